package e2e

import (
	"net"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

const failsOnce = `
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: shop}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: ` + toolbox + `
    command: [sh, -c, exit 3]
`

// A collector that the environment names has the pod's life when it is gone, as one trace that is part of the
// trace of whoever started lifepod.
func TestTraceOfRun(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		collector := otlptest.New(t)
		endpoint := map[string]string{"http/protobuf": collector.URL, "grpc": "http://" + collector.Endpoint}[protocol]
		r := shared.startWith(t, []string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + strings.TrimSuffix(endpoint, "/") + map[string]string{"http/protobuf": "/v1/traces"}[protocol],
			"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test",
			"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		}, strings.ReplaceAll(failsOnce, "NAME", "traced"), "run", "-").wait()
		assert.True(t, r.code == 3 && !strings.Contains(r.stderr, "warning"), "%s: exit code %d:\n%s", protocol, r.code, r.stderr)
		sent := collector.Spans()
		assert.Require(t, len(sent) != 0, "%s: the collector has nothing:\n%s", protocol, r.stderr)
		root := sent[0]
		assert.True(t, root.Name == "pod shop/traced" && root.Trace == "0af7651916cd43dd8448eb211c80319c" && root.Parent == "b7ad6b7169203331" && root.Error == "Failed" &&
			root.Resource["service.name"] == "lifepod" && root.Resource["deployment.environment"] == "test" && root.Resource["k8s.pod.name"] == "traced", "%s: the pod's span is %+v", protocol, root)
		for _, step := range []string{"sandbox", "start of main"} {
			found := false
			for _, s := range sent[1:] {
				found = found || strings.HasPrefix(s.Name, step) && s.Parent == root.ID && s.Took > 0
			}
			assert.True(t, found, "%s: no span of the %s in %+v", protocol, step, sent)
		}
	}
}

// A collector that is not there, or that takes what it is sent and never answers, changes nothing about the pod,
// and is told of.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	deaf := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = deaf.Close() }()
	for name, variables := range map[string][]string{
		"absent":           {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
		"absent over gRPC": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"deaf":             {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + deaf.Addr().String()},
		"deaf over gRPC":   {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + deaf.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := strings.ReplaceAll(failsOnce, "NAME", "untraced-"+strings.ToLower(strings.ReplaceAll(name, " ", "-")))
			r := shared.startWith(t, variables, manifest, "run", "-").wait()
			assert.True(t, r.code == 3 && strings.Count(r.stderr, "what became of the pod is not sent as a trace: send traces: ") == 1,
				"exit code %d:\n%s", r.code, r.stderr)
		})
	}
}

// What the variables say and nobody knows is refused before anything begins.
func TestUnknownExporter(t *testing.T) {
	t.Parallel()
	r := shared.startWith(t, []string{"OTEL_TRACES_EXPORTER=zipkin"}, strings.ReplaceAll(failsOnce, "NAME", "refused"), "run", "-").wait()
	if want := `OTEL_TRACES_EXPORTER "zipkin": want otlp, console or none`; r.code != 125 || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "pod Pending") {
		t.Errorf("exit code %d, want 125 and %q:\n%s", r.code, want, r.stderr)
	}
}
