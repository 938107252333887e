package cluster

import (
	"context"
	"sync"

	"k8s.io/client-go/informers"

	"github.com/lifepod/lifepod/cluster/dns"
	"github.com/lifepod/lifepod/cluster/netpolicy"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/routes"
)

// traffic knows whether pods of this node reach the API server by its Service.
type traffic struct {
	ready  chan struct{} // closed when they do
	serves func()
}

// newTraffic finds out, beside everything else, whether they do with the rules of before, which
// stay while pods run on.
func (l *layout) newTraffic(ctx context.Context) *traffic {
	t := &traffic{ready: make(chan struct{})}
	t.serves = sync.OnceFunc(func() { close(t.ready) })
	go func() {
		if proxy.Serves(ctx, proxy.Table(l.paths), l.serviceIP(apiService)) {
			t.serves()
		}
	}()
	return t
}

// runTraffic is service traffic of this machine's node.
func (r *run) runTraffic(ctx context.Context, shared informers.SharedInformerFactory) error {
	bridge := r.paths.Bridge()
	if r.CNI.ConfDir != "" {
		bridge = ""
	}
	return proxy.Run(ctx, proxy.Config{
		Informers: shared,
		Node:      r.Node,
		NodeIP:    r.advertise,
		Bridge:    bridge,
		APIServer: r.serviceIP(apiService),
		Serves:    r.traffic.serves,
		Ports:     r.runs(proxy.PortsPart),
		Table:     proxy.Table(r.paths),
		Log:       r.Log,
	})
}

// runRoutes are the routes to the pods of other nodes; another pod network has its own.
func (r *run) runRoutes(ctx context.Context, shared informers.SharedInformerFactory) error {
	if r.CNI.ConfDir != "" {
		<-ctx.Done()
		return nil
	}
	return routes.Run(ctx, routes.Config{Informers: shared, Node: r.Node, Pods: r.pods, Log: r.Log})
}

// dnsPortAfter is how far behind the API server's the port of cluster DNS is: other
// nodes' pods must reach both.
const dnsPortAfter = 10

func (r *run) runDNS(ctx context.Context, shared informers.SharedInformerFactory) error {
	return dns.Run(ctx, dns.Config{
		Client:    r.client,
		Informers: shared,
		Node:      r.Node,
		Address:   r.advertise,
		Port:      r.ports.API + dnsPortAfter,
		ServiceIP: r.serviceIP(dnsService).String(),
		Domain:    dnsDomain,
		Log:       r.Log,
	})
}

// runPolicies tells that the bundled pod network has no policies.
func (r *run) runPolicies(ctx context.Context, shared informers.SharedInformerFactory) error {
	return netpolicy.Run(ctx, netpolicy.Config{Client: r.client, Informers: shared, Node: r.Node, Log: r.Log})
}
