package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// listenHealthz takes the port where the kubelet says that it lives, which kubeadm
// waits for; nil if there is none. It needs no certificate and no API server.
func (s *setup) listenHealthz() (net.Listener, error) {
	k := s.config.Kubelet
	if *k.HealthzPort == 0 || !s.options.inCluster() && !s.config.Set("healthzPort") {
		return nil, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(k.HealthzBindAddress, strconv.Itoa(int(*k.HealthzPort))))
	if err != nil {
		return nil, fmt.Errorf("healthz: %w: is a kubelet running? Stop it, or set healthzPort: 0", err)
	}
	return l, nil
}

// serveHealthz answers until ctx ends.
func serveHealthz(ctx context.Context, l net.Listener, healthy func() error) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("ok")) // who asks knows whether it has come
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // nothing is lost
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("healthz: %w", err)
	}
	return nil
}
