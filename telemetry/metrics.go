package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Metrics sends what a registry has, or lets it be scraped.
type Metrics struct {
	provider *metric.MeterProvider
	server   *http.Server // nil: nobody is to scrape it
}

// MetricsAsked says whether the environment asks for metrics.
func MetricsAsked() bool {
	list, err := metrics.exporters(otlp, console, exporterPrometheus)
	return len(list) > 0 || err != nil
}

// OpenMetrics begins to send what a registry has, every OTEL_METRIC_EXPORT_INTERVAL and at the end; nil if the
// environment does not ask for it. The collector need not be there. With the exporter prometheus it is served at
// OTEL_EXPORTER_PROMETHEUS_HOST and _PORT, under the names that it has.
func OpenMetrics(ctx context.Context, from client.Gatherer, of *resource.Resource) (*Metrics, error) {
	list, err := metrics.exporters(otlp, console, exporterPrometheus)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := checkMetrics(ctx, list); err != nil {
		return nil, err
	}
	m, options := &Metrics{}, []metric.Option{metric.WithResource(of)}
	for _, name := range list {
		if name == exporterPrometheus {
			if m.server, err = serveMetrics(setting("OTEL_EXPORTER_PROMETHEUS_HOST"), setting("OTEL_EXPORTER_PROMETHEUS_PORT"), from); err != nil {
				return nil, fmt.Errorf("OTEL_METRICS_EXPORTER prometheus: %w", err)
			}
			continue
		}
		exporter, err := openMetrics(ctx, name)
		if err != nil {
			return nil, errors.Join(err, m.Close(ctx))
		}
		options = append(options, metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(from))))))
	}
	m.provider = metric.NewMeterProvider(options...)
	return m, nil
}

func openMetrics(ctx context.Context, name string) (metric.Exporter, error) {
	if name == console {
		return stdoutmetric.New()
	}
	protocol, err := metrics.protocol()
	if err != nil {
		return nil, err
	}
	if protocol == overGRPC {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

// Close sends the last figures, as far as the collector takes them before ctx ends, and ends the sending. Of nil
// it does nothing.
func (m *Metrics) Close(ctx context.Context) (err error) {
	if m == nil {
		return nil
	}
	if m.provider != nil {
		if err = m.provider.Shutdown(ctx); err != nil {
			err = fmt.Errorf("send metrics: %w", err)
		}
	}
	if m.server != nil {
		err = errors.Join(err, m.server.Close())
	}
	return err
}

// lastFigures is how long the end of a node may wait for the collector to take the last figures.
const lastFigures = 2 * time.Second

// SendMetrics begins to send what a registry has of a service on a machine, if the environment asks for that; end
// sends the last figures.
func SendMetrics(ctx context.Context, from client.Gatherer, service, host string) (end func(), err error) {
	if !MetricsAsked() {
		return func() {}, nil
	}
	of, err := Resource(ctx, service, attribute.String("host.name", host))
	if err != nil {
		return nil, err
	}
	sent, err := OpenMetrics(ctx, from, of)
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastFigures)
		defer done()
		if err := sent.Close(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}
