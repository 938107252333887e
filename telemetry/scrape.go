package telemetry

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

// serveMetrics serves /metrics until Close, by default at port 9464 of localhost.
func serveMetrics(host, port string, from prometheus.Gatherer) (*http.Server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "9464")))
	if err != nil {
		return nil, err
	}
	limited := connlimit.New(l, connlimit.Share(16))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s := &http.Server{Handler: limited.Admitting(mux), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	go func() { // until Close
		if err := s.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			otel.Handle(err)
		}
	}()
	return s, nil
}
