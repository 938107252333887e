package telemetry

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

// What the environment asks for, and what is refused.
func TestEnvironment(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		environment map[string]string
		exporters   int
		refused     string
	}{
		"nothing":           {},
		"an endpoint":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, 1, ""},
		"the signal's":      {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, 1, ""},
		"another signal's":  {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint}, 0, ""},
		"otlp":              {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, 1, ""},
		"two":               {map[string]string{"OTEL_TRACES_EXPORTER": "otlp, console,otlp"}, 2, ""},
		"none":              {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, 0, ""},
		"disabled":          {map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"}, 0, ""},
		"over gRPC":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, 1, ""},
		"the signal's wins": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "x", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, 1, ""},
		"a sampler":         {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}, 1, ""},

		"unknown exporter": {map[string]string{"OTEL_TRACES_EXPORTER": "jaeger"}, 0, `OTEL_TRACES_EXPORTER "jaeger": want otlp, console or none`},
		"unknown protocol": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, 0, `OTEL_EXPORTER_OTLP_PROTOCOL "http/json": want grpc or http/protobuf`},
		"no URL":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, 0, `OTEL_EXPORTER_OTLP_ENDPOINT "localhost:4317": want a URL, such as http://localhost:4318`},
		"unknown sampler":  {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "some"}, 0, `OTEL_TRACES_SAMPLER "some": want one of`},
		"no ratio":         {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "50 %"}, 0, `OTEL_TRACES_SAMPLER_ARG "50 %": want a ratio`},
		"no attributes":    {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_RESOURCE_ATTRIBUTES": "a"}, 0, `OTEL_RESOURCE_ATTRIBUTES: `},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range tc.environment {
				t.Setenv(name, value)
			}
			got, err := OpenTraces(t.Context())
			switch {
			case tc.refused != "":
				assert.True(t, err != nil && strings.HasPrefix(err.Error(), tc.refused), "the error is %v, want %s", err, tc.refused)
			case err != nil:
				t.Error(err)
			case got == nil:
				assert.True(t, tc.exporters == 0, "nothing is sent")
			case len(got.exporters) != tc.exporters || tc.exporters == 0:
				t.Errorf("%d exporters, want %d", len(got.exporters), tc.exporters)
			}
		})
	}
}

// Spans arrive with the headers and the resource of the environment.
func TestProvider(t *testing.T) {
	collector := otlptest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
	t.Setenv("OTEL_SERVICE_NAME", "shop")
	to := assert.Get(OpenTraces(t.Context())).Must(t)
	of := assert.Get(Resource(t.Context(), "lifepod")).Must(t)
	provider := to.Provider(of)
	_, span := provider.Tracer("test").Start(t.Context(), "one")
	span.End()
	assert.Must(t, provider.Shutdown(t.Context()))
	sent := collector.Spans()
	assert.True(t, len(sent) == 1 && sent[0].Name == "one" && sent[0].Resource["service.name"] == "shop" && collector.Header("Authorization") == "Bearer x",
		"the collector has %+v, sent with %q", sent, collector.Header("Authorization"))
}
