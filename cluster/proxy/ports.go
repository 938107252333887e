package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics"
	proxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"
	proxymetrics "k8s.io/kubernetes/pkg/proxy/metrics"

	"github.com/lifepod/lifepod/internal/connlimit"
)

// kube-proxy's two ports.
const (
	healthPort  = 10256 // of the node's address: load balancers ask there whether the node takes traffic
	metricsPort = 10249 // of 127.0.0.1
	// healthTimeout is how long a change may wait until the node is not healthy: two of kube-proxy's syncPeriod.
	healthTimeout = time.Minute
)

// health is whether the rules follow the Services, and whether the node takes traffic.
type health struct {
	*healthcheck.ProxyHealthServer
	node atomic.Pointer[core.Node] // nil: there is none
}

func newHealth() *health {
	h := &health{}
	h.ProxyHealthServer = healthcheck.NewProxyHealthServer("", healthTimeout, h)
	return h
}

// Node is the own node as the cluster has it now.
func (h *health) Node() *core.Node { return h.node.Load() }

// handler answers load balancers as kube-proxy does: /livez says nothing of the node, /healthz fails when the
// cluster autoscaler is about to delete it, too.
func (h *health) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		now, eligible := h.Health(), h.NodeEligible()
		now.NodeEligible = &eligible
		answer(w, now, now.Healthy && eligible, proxymetrics.ProxyHealthzTotal)
	})
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) {
		now := h.Health()
		answer(w, now, now.Healthy, proxymetrics.ProxyLivezTotal)
	})
	return mux
}

func answer(w http.ResponseWriter, now healthcheck.ProxyHealth, healthy bool, total *metrics.CounterVec) {
	status := http.StatusServiceUnavailable
	if healthy {
		status, now.LastUpdated = http.StatusOK, now.CurrentTime // also when nothing has changed since
	}
	total.WithLabelValues(fmt.Sprint(status)).Inc()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(now) // a client that is gone needs none
}

// figures has the metrics of kube-proxy's nftables mode and no others of this process: clients are not asked who they
// are. They exist once for all proxiers of the process.
var figures = sync.OnceValue(func() metrics.KubeRegistry {
	r := metrics.NewKubeRegistry()
	r.MustRegister(
		proxymetrics.SyncProxyRulesLatency, proxymetrics.SyncProxyRulesLastQueuedTimestamp, proxymetrics.SyncProxyRulesLastTimestamp,
		proxymetrics.EndpointChangesPending, proxymetrics.EndpointChangesTotal, proxymetrics.ServiceChangesPending,
		proxymetrics.ServiceChangesTotal, proxymetrics.ProxyHealthzTotal, proxymetrics.ProxyLivezTotal,
		proxymetrics.NetworkProgrammingLatency, proxymetrics.SyncProxyRulesNoLocalEndpointsTotal,
		proxymetrics.SyncFullProxyRulesLatency, proxymetrics.SyncPartialProxyRulesLatency, proxymetrics.NFTablesSyncFailuresTotal,
		proxymetrics.NFTablesCleanupFailuresTotal, proxymetrics.ReconcileConntrackFlowsLatency,
		proxymetrics.ReconcileConntrackFlowsDeletedEntriesTotal,
	)
	return r
})

func metricsHandler() http.Handler {
	mux := http.NewServeMux()
	healthz.InstallHandler(mux)
	mux.HandleFunc("/proxyMode", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = fmt.Fprint(w, proxyconfig.ProxyModeNFTables) // a client that is gone needs none
	})
	mux.Handle("/metrics", metrics.HandlerFor(figures(), metrics.HandlerOpts{MaxRequestsInFlight: 4}))
	return mux
}

// port is one of kube-proxy's.
type port struct {
	address string
	clients string // who asks there, for people
	handler http.Handler
}

// servePorts answers at kube-proxy's ports until ctx ends.
func (c Config) servePorts(ctx context.Context, h *health) {
	var serving sync.WaitGroup
	for _, p := range []port{
		{net.JoinHostPort(c.NodeIP.String(), fmt.Sprint(healthPort)), "health checks of load balancers (/healthz, /livez)", h.handler()},
		{net.JoinHostPort("127.0.0.1", fmt.Sprint(metricsPort)), "who asks for kube-proxy's /metrics, /proxyMode and /healthz", metricsHandler()},
	} {
		serving.Go(func() { c.servePort(ctx, p, retry) })
	}
	serving.Wait()
}

// servePort answers at a port. One that is taken, by another cluster's node on this machine for instance, is waited for.
func (c Config) servePort(ctx context.Context, p port, every time.Duration) {
	warned := false
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := p.serve(ctx)
		if err == nil || ctx.Err() != nil || warned {
			return
		}
		warned = true
		c.Log.Warn("one of kube-proxy's ports can't be had, whose clients get another program's answer or none; it is tried again; lifepod up --disable "+
			PortsPart+" does without", "address", p.address, "clients", p.clients, "err", err)
	}, every)
}

func (p port) serve(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second}
	server.SetKeepAlivesEnabled(false)                            // nobody is admitted: what is asked takes no time
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // nothing is lost
	return server.Serve(connlimit.New(l, connlimit.Share(32)))
}
