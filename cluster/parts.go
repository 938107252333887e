package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"github.com/lifepod/lifepod/cluster/controllers"
	"github.com/lifepod/lifepod/cluster/foldervolume"
	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/scheduler"
	"github.com/lifepod/lifepod/cluster/simulated"
	"github.com/lifepod/lifepod/cluster/snapshots"
)

// part works on the API server, and can be left out.
type part struct {
	name  string
	check func() error // before anything is started; may be nil
	// once says that one of several servers does it for all: the leader. The others
	// are about this machine.
	once bool
	// madeFirst says that no informer may run before the part is made: see
	// gatedInformers. It starts its informers when it is.
	madeFirst bool
	run       func(*run, context.Context, informers.SharedInformerFactory) error
}

// nodePart ends everything when it fails; the others are started again.
const nodePart = "node"

var parts = []part{
	{name: "scheduler", once: true, madeFirst: true, run: func(r *run, ctx context.Context, shared informers.SharedInformerFactory) error {
		return scheduler.Run(ctx, r.client, shared)
	}},
	{name: "controllers", once: true, madeFirst: true, run: (*run).runControllers},
	{name: "volumes", once: true, run: (*run).runVolumes},
	{name: "folder-volumes", run: (*run).runFolderVolumes},
	{name: "snapshots", once: true, madeFirst: true, run: (*run).runSnapshots},
	{name: "services", check: proxy.Check, run: (*run).runTraffic},
	{name: "routes", run: (*run).runRoutes},
	{name: "dns", run: (*run).runDNS},
	{name: "network-policies", once: true, run: (*run).runPolicies},
	{name: "invitations", once: true, run: alone((*run).runInvitations)},
	{name: "serving-certificates", once: true, run: (*run).runServingCertificates},
	{name: "add-ons", once: true, run: alone((*run).runAddons)},
	{name: simulated.Part, run: alone((*run).runSimulated)},
	{name: "backups", run: alone((*run).runBackups)},
}

// alone is a part that needs no informers.
func alone(part func(*run, context.Context) error) func(*run, context.Context, informers.SharedInformerFactory) error {
	return func(r *run, ctx context.Context, _ informers.SharedInformerFactory) error { return part(r, ctx) }
}

func (r *run) runControllers(ctx context.Context, shared informers.SharedInformerFactory) error {
	return controllers.Run(ctx, controllers.Config{
		Loopback: r.server.InProcess(), Client: r.client, Informers: shared, Keys: r.keys, NodeGrace: r.NodeGrace,
		Pods: r.pods, Services: r.services,
	})
}

func (r *run) runVolumes(ctx context.Context, shared informers.SharedInformerFactory) error {
	objects, err := dynamic.NewForConfig(r.server.InProcess())
	if err != nil {
		return err
	}
	return localvolume.Run(ctx, localvolume.Config{Client: r.client, Dynamic: objects, Informers: shared, Keys: r.keys, Log: r.Log})
}

func (r *run) runFolderVolumes(ctx context.Context, shared informers.SharedInformerFactory) error {
	return foldervolume.Run(ctx, foldervolume.Config{Dir: r.volumes(), Node: r.Node, Client: r.client, Informers: shared, Log: r.Log})
}

func (r *run) runSimulated(ctx context.Context) error {
	return simulated.Run(ctx, simulated.Config{Nodes: r.Simulated, Loopback: r.server.Loopback(), Client: r.client, IP: r.advertise, Log: r.Log})
}

func (r *run) runSnapshots(ctx context.Context, shared informers.SharedInformerFactory) error {
	return snapshots.Run(ctx, snapshots.Config{Loopback: r.server.InProcess(), Client: r.client, Informers: shared, Keys: r.keys, Local: r.runs("volumes")})
}

// Parts are those that --disable can name.
func Parts() []string {
	names := []string{nodePart}
	for _, p := range parts {
		names = append(names, p.name)
	}
	return append(names, proxy.PortsPart)
}

func (c Config) runs(part string) bool { return !slices.Contains(c.Disable, part) }

func (c Config) wanted(kind func(part) bool) (list []part) {
	for _, p := range parts {
		if c.runs(p.name) && kind(p) {
			list = append(list, p)
		}
	}
	return list
}

// checkParts says what keeps parts from running, before anything is started.
func (c Config) checkParts() error {
	for _, name := range c.Disable {
		if !slices.Contains(Parts(), name) {
			return fmt.Errorf("--disable %q: want some of %s", name, strings.Join(Parts(), ", "))
		}
	}
	for _, p := range parts {
		if p.check == nil || !c.runs(p.name) {
			continue
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("%w (or do without: --disable %s)", err, p.name)
		}
	}
	return nil
}

// runParts runs what works on the API server.
func (r *run) runParts(g *group) {
	r.runOn(g, r.informers(), r.wanted(func(p part) bool { return !p.once || !r.Etcd.Given() }))
	if r.Etcd.Given() {
		g.restarted("servers", func(ctx context.Context) error { return r.tellServer(ctx, r.client) })
		g.essential("leader election", r.stand)
	}
	registered := make(chan struct{})
	if r.runs(nodePart) {
		g.essential(nodePart, func(ctx context.Context) error {
			return r.runNode(ctx, func() { r.step("node runs") }, func() {
				r.step("node registered")
				close(registered)
			})
		})
	} else {
		close(registered)
	}
	g.running.Go(func() { r.tellReady(g.ctx, registered) })
}
