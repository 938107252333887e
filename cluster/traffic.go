package cluster

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/dns"
	"github.com/lifepod/lifepod/cluster/netpolicy"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/routes"
)

// runTraffic is service traffic of this machine's node.
func (l *layout) runTraffic(ctx context.Context, shared informers.SharedInformerFactory) error {
	bridge := l.paths.Bridge()
	if l.CNI.ConfDir != "" {
		bridge = ""
	}
	return proxy.Run(ctx, proxy.Config{
		Informers: shared,
		Node:      l.Node,
		NodeIP:    l.advertise,
		Bridge:    bridge,
		APIServer: l.serviceIP(apiService),
		Table:     proxy.Table(l.paths),
		Log:       l.Log,
	})
}

// runRoutes are the routes to the pods of other nodes; another pod network has its own.
func (l *layout) runRoutes(ctx context.Context, shared informers.SharedInformerFactory) error {
	if l.CNI.ConfDir != "" {
		<-ctx.Done()
		return nil
	}
	return routes.Run(ctx, routes.Config{Informers: shared, Node: l.Node, Pods: l.pods, Log: l.Log})
}

// dnsPortAfter is how far behind the API server's the port of cluster DNS is: other
// nodes' pods must reach both.
const dnsPortAfter = 10

// runDNS is the cluster's DNS.
func (l *layout) runDNS(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	return dns.Run(ctx, dns.Config{
		Client:    client,
		Informers: shared,
		Node:      l.Node,
		Address:   l.advertise,
		Port:      l.ports.API + dnsPortAfter,
		ServiceIP: l.serviceIP(dnsService).String(),
		Domain:    dnsDomain,
		Log:       l.Log,
	})
}

// runPolicies tells that the bundled pod network has no policies.
func (l *layout) runPolicies(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	return netpolicy.Run(ctx, netpolicy.Config{Client: client, Informers: shared, Node: l.Node, Log: l.Log})
}
