// Package scrape lets Prometheus scrape a registry, where OTEL_EXPORTER_PROMETHEUS_HOST and
// OTEL_EXPORTER_PROMETHEUS_PORT say.
package scrape

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
)

// headerTimeout is how long a client may take to say what it wants.
const headerTimeout = 5 * time.Second

// Server serves until Close.
type Server struct{ http.Server }

// Serve serves /metrics, by default at port 9464 of localhost.
func Serve(host, port string, from prometheus.Gatherer) (*Server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "9464")))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s := &Server{http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}}
	go func() { // until Close
		if err := s.Server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			otel.Handle(err)
		}
	}()
	return s, nil
}
