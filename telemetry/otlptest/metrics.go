package otlptest

import (
	"context"
	"maps"

	metricsapi "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricapi "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Metric is what the collector was sent of a metric last, all its attributes together.
type Metric struct {
	Value    float64 // of a counter or gauge; of a histogram the sum
	Count    uint64  // of a histogram
	Resource map[string]string
}

// metricsService takes metrics over gRPC.
type metricsService struct {
	metricsapi.UnimplementedMetricsServiceServer
	of *Collector
}

func (s *metricsService) Export(_ context.Context, r *metricsapi.ExportMetricsServiceRequest) (*metricsapi.ExportMetricsServiceResponse, error) {
	s.of.takeMetrics(r)
	return &metricsapi.ExportMetricsServiceResponse{}, nil
}

func (c *Collector) takeMetrics(r *metricsapi.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.GetResourceMetrics() {
		of := texts(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				metric := sum(m)
				metric.Resource = of
				c.metrics[m.GetName()] = metric
			}
		}
	}
}

func sum(m *metricapi.Metric) (all Metric) {
	for _, p := range append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...) {
		all.Value += p.GetAsDouble() + float64(p.GetAsInt())
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		all.Value += p.GetSum()
		all.Count += p.GetCount()
	}
	return all
}

// Metrics are those that were sent so far, by name.
func (c *Collector) Metrics() map[string]Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.metrics)
}
