package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lifepod/lifepod/internal/connlimit"
	"github.com/lifepod/lifepod/node/server"
)

// listenHealthz takes the port where the kubelet says that it lives, which kubeadm
// waits for; nil if there is none. It needs no certificate and no API server.
func (s *setup) listenHealthz() (net.Listener, error) {
	k := s.config.Kubelet
	if *k.HealthzPort == 0 || !s.options.inCluster() && !s.config.Set("healthzPort") {
		return nil, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(k.HealthzBindAddress, fmt.Sprint(*k.HealthzPort)))
	if err != nil {
		return nil, fmt.Errorf("healthz: %w: is a kubelet running? Stop it, or set healthzPort: 0", err)
	}
	return connlimit.New(l, connlimit.Share(16)), nil
}

// serveHealthz answers until ctx ends. The kubelet has only ping there; here /healthz is as
// true as that of the node's API.
func serveHealthz(ctx context.Context, l net.Listener, healthy func() error, log *slog.Logger) error {
	mux := http.NewServeMux() // nobody is admitted: what is asked takes no time
	server.AddHealth(mux, healthy, log)
	serves := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	serves.SetKeepAlivesEnabled(false)
	defer context.AfterFunc(ctx, func() { _ = serves.Close() })() // nothing is lost
	if err := serves.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("healthz: %w", err)
	}
	return nil
}
