// Package netbox has the toolbox's applets that need net/http or gRPC: servers
// with health endpoints for the probes of examples and tests, and clients.
package netbox

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// serve is an HTTP server: /healthz, /readyz and /livez answer 200, or 503 and why;
// / and /hostname the name of the host. After POST /fail it is not ready, until POST /ok.
func serve(c *toolbox.Call) error {
	port := c.Flags.Int("port", 8080, "TCP port")
	readyAfter := c.Flags.Duration("ready-after", 0, "not ready until then")
	healthyFor := c.Flags.Duration("healthy-for", 0, "neither healthy nor ready after that (0: for ever)")
	c.EndingFlags()
	if _, err := c.Parse("[--port N] [--ready-after DURATION] [--healthy-for DURATION]", 0, 0); err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	listener, err := listen(c, *port)
	if err != nil {
		return err
	}
	start := time.Now()
	var failing atomic.Bool
	health := func(from time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if up := time.Since(start); up < from || *healthyFor > 0 && up >= *healthyFor {
				http.Error(w, fmt.Sprintf("up for %v, ready after %v, healthy for %v", up.Round(time.Millisecond), from, *healthyFor), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", health(0))
	mux.HandleFunc("GET /livez", health(0))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if failing.Load() {
			http.Error(w, "told to fail", http.StatusServiceUnavailable)
			return
		}
		health(*readyAfter)(w, r)
	})
	mux.HandleFunc("POST /fail", func(http.ResponseWriter, *http.Request) { failing.Store(true) })
	mux.HandleFunc("POST /ok", func(http.ResponseWriter, *http.Request) { failing.Store(false) })
	for _, path := range []string{"GET /hostname", "GET /{$}"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, name) })
	}
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}

// listen says where.
func listen(c *toolbox.Call, port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err == nil {
		fmt.Fprintf(c.Stdout, "serving on %s\n", listener.Addr())
	}
	return listener, err
}

// grpc-health serves grpc.health.v1.Health for the empty service name and those
// named.
func grpcHealth(c *toolbox.Call) error {
	port := c.Flags.Int("port", 5000, "TCP port")
	services := c.Flags.StringArray("service", nil, "a service name to answer for, beside the empty one")
	c.EndingFlags()
	if _, err := c.Parse("[--port N] [--service NAME]…", 0, 0); err != nil {
		return err
	}
	listener, err := listen(c, *port)
	if err != nil {
		return err
	}
	health := grpchealth.NewServer() // the empty name is served from the start
	for _, service := range *services {
		health.SetServingStatus(service, healthpb.HealthCheckResponse_SERVING)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health)
	return server.Serve(listener)
}

// Applets are the commands of toolbox-net.
var Applets = map[string]toolbox.Applet{
	"dial":        dial,
	"fetch":       fetch,
	"grpc-health": grpcHealth,
	"lookup":      lookup,
	"serve":       serve,
}
