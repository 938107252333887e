package proxy

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestPaths: each path of kube-proxy's ports answers as kube-proxy; /healthz only where the node takes traffic.
func TestPaths(t *testing.T) {
	h := newHealth()
	h.Updated(core.IPv4Protocol)
	node := func(change func(*core.Node)) *core.Node {
		n := &core.Node{ObjectMeta: meta.ObjectMeta{Name: "n1"}}
		change(n)
		return n
	}
	usual := node(func(*core.Node) {})
	autoscaled := node(func(n *core.Node) { n.Spec.Taints = []core.Taint{{Key: healthcheck.ToBeDeletedTaint}} })
	deleted := node(func(n *core.Node) { n.DeletionTimestamp = new(meta.Now()) })
	for _, tc := range []struct {
		path    string
		node    *core.Node
		handler http.Handler
		status  int
		want    string
	}{
		{"/healthz", usual, h.handler(), http.StatusOK, `"nodeEligible":true,"healthy":true`},
		{"/healthz", nil, h.handler(), http.StatusServiceUnavailable, `"nodeEligible":false`},
		{"/healthz", autoscaled, h.handler(), http.StatusServiceUnavailable, `"nodeEligible":false`},
		{"/healthz", deleted, h.handler(), http.StatusServiceUnavailable, `"nodeEligible":false`},
		{"/livez", autoscaled, h.handler(), http.StatusOK, `"status":{"IPv4":`},
		{"/healthz", nil, metricsHandler(), http.StatusOK, "ok"},
		{"/proxyMode", nil, metricsHandler(), http.StatusOK, "nftables"},
		{"/metrics", nil, metricsHandler(), http.StatusOK, `kubeproxy_proxy_healthz_total{code="503"}`},
	} {
		h.node.Store(tc.node)
		w := httptest.NewRecorder()
		tc.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil))
		assert.True(t, w.Code == tc.status && strings.Contains(w.Body.String(), tc.want),
			"%s: %d %s, want %d %s", tc.path, w.Code, w.Body, tc.status, tc.want)
	}
}

// warnings are what is logged.
type warnings chan string

func (w warnings) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}

// TestTakenPort: a port that is taken is one warning, which says who isn't answered, and is served when it is free.
func TestTakenPort(t *testing.T) {
	taken := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	logged := make(warnings, 1) // a second one would hold the test up
	p := port{taken.Addr().String(), "load balancers", metricsHandler()}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Config{Log: slog.New(slog.NewTextHandler(logged, nil))}.servePort(ctx, p, time.Millisecond)
	}()
	warning := <-logged
	assert.True(t, strings.Contains(warning, p.address) && strings.Contains(warning, "load balancers") && strings.Contains(warning, "--disable proxy-ports"),
		"warning %s", warning)
	assert.Must(t, taken.Close())
	for {
		response, err := http.Get("http://" + p.address + "/proxyMode")
		if err != nil {
			continue // it is tried again
		}
		text, err := io.ReadAll(response.Body)
		assert.True(t, err == nil && string(text) == "nftables", "answer %s, %v", text, err)
		_ = response.Body.Close()
		break
	}
	end()
	<-ended
	assert.Fails(t, assert.ErrorOf(net.Dial("tcp", p.address)), "it answers after its end")
}
