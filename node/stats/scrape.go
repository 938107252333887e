package stats

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scraped is a handler of what collect reads for each request: nothing is kept of
// containers that have gone.
func scraped(log *slog.Logger, collect func(ctx context.Context, out chan<- prometheus.Metric)) http.Handler {
	options := promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once := prometheus.NewRegistry()
		once.MustRegister(collector{r.Context(), collect})
		promhttp.HandlerFor(once, options).ServeHTTP(w, r)
	})
}

// collector reads for one request. It describes nothing beforehand, as what there
// is depends on the pods.
type collector struct {
	ctx     context.Context
	collect func(ctx context.Context, out chan<- prometheus.Metric)
}

// Describe is that of an unchecked collector.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads.
func (c collector) Collect(out chan<- prometheus.Metric) { c.collect(c.ctx, out) }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
