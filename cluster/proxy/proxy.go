package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/healthcheck"
	"k8s.io/kubernetes/pkg/proxy/nftables"
	"k8s.io/kubernetes/pkg/proxy/runner"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"sigs.k8s.io/knftables"
)

// Config is what service traffic depends on.
type Config struct {
	Informers informers.SharedInformerFactory // Services, EndpointSlices, ServiceCIDRs, Nodes
	Node      string                          // name of this node
	NodeIP    net.IP                          // IPv4 address of it
	// Bridge is the interface of the node's pods. What comes from elsewhere to a
	// service's address gets the node's address as its source, so that answers come
	// back. Empty: sources are kept, for other pod networks than the bundle's.
	Bridge string
	Table  string // nftables table, see Table
	// APIServer is the address of the Service default/kubernetes: a warning tells who
	// else on this machine has it. Nil: nobody is looked for.
	APIServer net.IP
	// Serves is called when the rules send what is for APIServer to an endpoint for the
	// first time; may be nil.
	Serves func()
	Ports  bool // answer at kube-proxy's own ports, too

	Log *slog.Logger
}

const (
	// betweenSyncs is the least time between two transactions: changes that come
	// close together share one. The first is carried out at once.
	betweenSyncs = 20 * time.Millisecond
	// retry is when a transaction that went wrong is tried again.
	retry = 5 * time.Second
	// PortsPart is the name of Config's Ports among the parts of a cluster.
	PortsPart = "proxy-ports"
	// masqueradeBit of packet marks means: give it this node's address.
	masqueradeBit = 14
)

// Run keeps the table up to date until ctx ends, and leaves it then.
func Run(ctx context.Context, c Config) error {
	if c.NodeIP.To4() == nil {
		return fmt.Errorf("service traffic: address %s of the node is not IPv4, the only family supported", c.NodeIP)
	}
	table, err := makeTable(ctx, c.Table)
	if err != nil {
		return err
	}
	if c.Bridge != "" {
		if err := filterBridges(ctx); err != nil {
			c.Log.Warn("pods get no answers from services whose pods are on the same node", "err", err)
		}
	}
	if err := trackConnections(klog.NewContext(ctx, c.klog())); err != nil {
		c.Log.Warn("connections are followed as the machine is set", "err", err)
	}
	return c.serve(ctx, table)
}

// klog is the log of upstream's code. V(1): what it tells of its doings is for those who look
// for a cause.
func (c Config) klog() klog.Logger { return logr.FromSlogHandler(c.Log.Handler()).V(1) }

func (c Config) serve(ctx context.Context, table knftables.Interface) error {
	if c.Serves != nil {
		table = &announcing{Interface: table, address: c.APIServer, serves: c.Serves}
	}
	p, err := c.proxier(ctx, table)
	if err != nil {
		return err
	}
	defer func() { _ = p.healthPorts.SyncServices(nil) }() // there is nothing to serve it with
	changes := &feed{informers: c.Informers, node: c.Node, to: p}
	if err := changes.begin(); err != nil {
		return err
	}
	c.Informers.Start(ctx.Done())
	var ports sync.WaitGroup
	defer ports.Wait()
	if c.Ports {
		ports.Go(func() { c.servePorts(ctx, p.health) })
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.syncs.Loop(stop)
	}()
	if changes.synced(ctx) {
		p.OnServiceSynced()
		p.OnEndpointSlicesSynced()
		c.warn(ctx)
		p.Sync() // in case that the first one went wrong: the loop tries again
	}
	<-ctx.Done()
	err = changes.end() // before the loop: it takes no changes when it has ended
	close(stop)
	<-stopped
	return err
}

// proxier is upstream's with what its constructor doesn't give.
type proxier struct {
	*nftables.Proxier
	syncs       *runner.BoundedFrequencyRunner
	healthPorts healthcheck.ServiceHealthServer
	health      *health
}

func (c Config) proxier(ctx context.Context, table knftables.Interface) (*proxier, error) {
	local := proxyutil.NewNoOpLocalDetector()
	if c.Bridge != "" {
		local = proxyutil.NewDetectLocalByBridgeInterface(c.Bridge)
	}
	ctx = klog.NewContext(ctx, c.klog())
	health := newHealth()
	settings := &config.KubeProxyConfiguration{
		SyncPeriod: metav1.Duration{Duration: retry}, MinSyncPeriod: metav1.Duration{Duration: betweenSyncs},
		NFTables: config.KubeProxyNFTablesConfiguration{MasqueradeBit: new(int32(masqueradeBit))},
	}
	made, err := nftables.NewProxier(ctx, settings, core.IPv4Protocol, local, c.Node, c.NodeIP, nil, health.ProxyHealthServer, false)
	if err != nil {
		return nil, fmt.Errorf("service traffic: %w", err)
	}
	p := &proxier{Proxier: made, health: health}
	if err := set(made, "nftables", table); err != nil {
		return nil, err
	}
	if p.syncs, err = get[*runner.BoundedFrequencyRunner](made, "syncRunner"); err != nil {
		return nil, err
	}
	p.healthPorts, err = get[healthcheck.ServiceHealthServer](made, "serviceHealthServer")
	return p, err
}
