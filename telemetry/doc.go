// Package telemetry sends traces and metrics where the standard environment variables of OpenTelemetry say
// (docs/metrics.md). A signal is sent if its exporter is named (OTEL_TRACES_EXPORTER,
// OTEL_METRICS_EXPORTER) or an endpoint is (OTEL_EXPORTER_OTLP_ENDPOINT, or the signal's own): without either
// nothing is sent, although OpenTelemetry's default is a collector on the same machine, for few machines
// have one. A value that nobody knows is an error, before anything is begun.
package telemetry
