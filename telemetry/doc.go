// Package telemetry sends traces and metrics where the standard environment variables of OpenTelemetry say
// (docs/metrics.md). A signal is sent if its exporter is named (OTEL_TRACES_EXPORTER,
// OTEL_METRICS_EXPORTER) or an endpoint is (OTEL_EXPORTER_OTLP_ENDPOINT, or the signal's own): without either
// nothing is sent, although OpenTelemetry's default is a collector on the same machine, for few machines
// have one. A value that nobody knows is an error, before anything is begun.
//
// scrape.go lets Prometheus scrape a registry, where OTEL_EXPORTER_PROMETHEUS_HOST and
// OTEL_EXPORTER_PROMETHEUS_PORT say.
//
// spans.go makes OpenTelemetry spans of charts of package timeline: a trace for each pod's life, with
// a span for the pod and one below it for each bar. The same chart always gives the same spans, with the
// same IDs: sending it again adds nothing to what a collector has.
package telemetry
