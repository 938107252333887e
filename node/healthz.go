package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// runHealthz answers on the port where the kubelet says that it lives, which
// kubeadm waits for; 0 is none. It needs no certificate and no API server.
func (m *member) runHealthz(ctx context.Context) error {
	k := m.config.Kubelet
	if *k.HealthzPort == 0 || !m.inCluster() && !m.config.Set("healthzPort") {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(k.HealthzBindAddress, strconv.Itoa(int(*k.HealthzPort))))
	if err != nil {
		return fmt.Errorf("healthz: %w: is a kubelet running? Stop it, or set healthzPort: 0", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := m.healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("ok")) // who asks knows whether it has come
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	m.beside.Go(func() {
		<-ctx.Done()
		_ = server.Close() // nothing is lost
	})
	m.beside.Go(func() {
		if err := server.Serve(l); ctx.Err() == nil {
			m.fail(fmt.Errorf("healthz: %w", err))
		}
	})
	return nil
}
