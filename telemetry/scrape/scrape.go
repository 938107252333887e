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

	"github.com/lifepod/lifepod/internal/connlimit"
)

const (
	headerTimeout = 5 * time.Second // for a client to say what it wants
	idleTimeout   = 5 * time.Minute // between two requests, which come each minute or more often
)

// Server serves until Close.
type Server struct{ http.Server }

// Serve serves /metrics, by default at port 9464 of localhost.
func Serve(host, port string, from prometheus.Gatherer) (*Server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "9464")))
	if err != nil {
		return nil, err
	}
	limited := connlimit.New(l, connlimit.Share(16))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s := &Server{http.Server{Handler: limited.Admitting(mux), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}}
	go func() { // until Close
		if err := s.Server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			otel.Handle(err)
		}
	}()
	return s, nil
}
