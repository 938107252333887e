package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// signal is what is sent, as the names of variables have it.
type signal string

const (
	traces  signal = "TRACES"
	metrics signal = "METRICS"
)

// Exporters, as OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER name them.
const (
	otlp               = "otlp"
	console            = "console"
	exporterPrometheus = "prometheus"
	none               = "none"
)

// Protocols, as OTEL_EXPORTER_OTLP_PROTOCOL names them.
const (
	overGRPC = "grpc"
	overHTTP = "http/protobuf"
)

func setting(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// exporters are those that are wanted of a signal, of those that are known; none, if it is not to be sent.
func (s signal) exporters(known ...string) ([]string, error) {
	name := fmt.Sprintf("OTEL_%s_EXPORTER", s)
	value := setting(name)
	switch {
	case strings.EqualFold(setting("OTEL_SDK_DISABLED"), "true"), value == none:
		return nil, nil
	case value == "" && setting("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && setting(s.otlp("ENDPOINT")) == "":
		return nil, nil
	}
	var list []string
	for exporter := range strings.SplitSeq(cmp.Or(value, otlp), ",") {
		exporter = strings.TrimSpace(exporter)
		if !slices.Contains(known, exporter) {
			return nil, fmt.Errorf("%s %q: want %s or %s", name, value, strings.Join(known, ", "), none)
		}
		if !slices.Contains(list, exporter) {
			list = append(list, exporter)
		}
	}
	return list, nil
}

// otlp is the name of the signal's own variable of OTLP.
func (s signal) otlp(what string) string { return fmt.Sprintf("OTEL_EXPORTER_OTLP_%s_%s", s, what) }

// protocol is how the signal is sent by OTLP. Endpoints are checked as well: the exporters would pass over
// one that is wrong, and send to this machine.
func (s signal) protocol() (string, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", s.otlp("ENDPOINT")} {
		if value := setting(name); value != "" {
			if err := checkEndpoint(value); err != nil {
				return "", fmt.Errorf("%s %q: %w", name, value, err)
			}
		}
	}
	value := cmp.Or(setting(s.otlp("PROTOCOL")), setting("OTEL_EXPORTER_OTLP_PROTOCOL"), overHTTP)
	if value != overGRPC && value != overHTTP {
		return "", fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: want %s or %s", value, overGRPC, overHTTP)
	}
	return value, nil
}

func checkEndpoint(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix" || u.Host == "" && u.Path == "" {
		return fmt.Errorf("want a URL, such as http://localhost:4318")
	}
	return nil
}

// samplers are the values of OTEL_TRACES_SAMPLER.
var samplers = []string{
	"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
}

// checkSampler refuses what the SDK would pass over.
func checkSampler() error {
	sampler, argument := setting("OTEL_TRACES_SAMPLER"), setting("OTEL_TRACES_SAMPLER_ARG")
	if sampler == "" {
		return nil
	}
	if !slices.Contains(samplers, strings.ToLower(sampler)) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER %q: want one of %s", sampler, strings.Join(samplers, ", "))
	}
	if strings.HasSuffix(strings.ToLower(sampler), "traceidratio") && argument != "" {
		if ratio, err := strconv.ParseFloat(argument, 64); err != nil || ratio < 0 || ratio > 1 {
			return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG %q: want a ratio from 0 to 1", argument)
		}
	}
	return nil
}

// Check refuses what nobody would understand of the environment.
func Check(ctx context.Context) error {
	list, err := traces.exporters(otlp, console)
	if err == nil && len(list) > 0 {
		err = checkTraces(ctx, list)
	}
	if err != nil {
		return err
	}
	if list, err = metrics.exporters(otlp, console, exporterPrometheus); err != nil || len(list) == 0 {
		return err
	}
	return checkMetrics(ctx, list)
}

func checkTraces(ctx context.Context, list []string) error {
	if err := checkSampler(); err != nil {
		return err
	}
	return traces.check(ctx, list)
}

func checkMetrics(ctx context.Context, list []string) error {
	for _, name := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT"} {
		if value := setting(name); value != "" {
			if milliseconds, err := strconv.Atoi(value); err != nil || milliseconds <= 0 {
				return fmt.Errorf("%s %q: want a number of milliseconds", name, value)
			}
		}
	}
	return metrics.check(ctx, list)
}

// check refuses what all exporters of a list have in common.
func (s signal) check(ctx context.Context, list []string) error {
	if slices.Contains(list, otlp) {
		if _, err := s.protocol(); err != nil {
			return err
		}
	}
	_, err := Resource(ctx, "")
	return err
}

// Resource is whose spans or metrics they are: the service, unless OTEL_SERVICE_NAME or
// OTEL_RESOURCE_ATTRIBUTES name another one, what the latter has else, and the attributes.
func Resource(ctx context.Context, service string, attributes ...attribute.KeyValue) (*resource.Resource, error) {
	r, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)), resource.WithFromEnv(), resource.WithAttributes(attributes...))
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}
