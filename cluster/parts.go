package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/cluster/controllers"
	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/scheduler"
)

// part works on the API server, and can be left out.
type part struct {
	name  string
	check func() error // before anything is started; may be nil
	// once says that one of several servers does it for all: the leader. The others
	// are about this machine.
	once bool
	run  func(*run, context.Context) error
}

// nodePart ends everything when it fails; the others are started again.
const nodePart = "node"

var parts = []part{
	{name: "scheduler", once: true, run: func(r *run, ctx context.Context) error { return scheduler.Run(ctx, r.client, r.shared) }},
	{name: "controllers", once: true, run: func(r *run, ctx context.Context) error {
		return controllers.Run(ctx, controllers.Config{
			Loopback: r.server.Loopback(), Client: r.client, Informers: r.shared, Keys: r.keys, NodeGrace: r.NodeGrace,
			Pods: r.pods, Services: r.services,
		})
	}},
	{name: "volumes", run: func(r *run, ctx context.Context) error {
		return localvolume.Run(ctx, localvolume.Config{
			Dir: r.volumes(), Node: r.Node, Hostname: r.Node, Client: r.client, Informers: r.shared, Log: r.Log,
		})
	}},
	{name: "services", check: proxy.Check, run: func(r *run, ctx context.Context) error { return r.runTraffic(ctx, r.shared) }},
	{name: "routes", run: func(r *run, ctx context.Context) error { return r.runRoutes(ctx, r.shared) }},
	{name: "dns", run: func(r *run, ctx context.Context) error { return r.runDNS(ctx, r.client, r.shared) }},
	{name: "network-policies", once: true, run: func(r *run, ctx context.Context) error { return r.runPolicies(ctx, r.client, r.shared) }},
	{name: "invitations", once: true, run: func(r *run, ctx context.Context) error { return r.runInvitations(ctx, r.client, r.keys) }},
	{name: "serving-certificates", once: true, run: func(r *run, ctx context.Context) error { return r.runServingCertificates(ctx, r.client, r.shared) }},
	{name: "add-ons", once: true, run: func(r *run, ctx context.Context) error { return r.runAddons(ctx, r.server.Loopback(), r.client) }},
	{name: "backups", run: func(r *run, ctx context.Context) error { return r.runBackups(ctx) }},
}

// Parts are those that --disable can name.
func Parts() []string {
	names := []string{nodePart}
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func (c Config) runs(part string) bool { return !slices.Contains(c.Disable, part) }

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
	r.shared = r.informers()
	for _, p := range parts {
		if r.runs(p.name) && !(p.once && r.Etcd.Given()) {
			g.restarted(p.name, func(ctx context.Context) error { return p.run(r, ctx) })
		}
	}
	if r.Etcd.Given() {
		g.restarted("servers", func(ctx context.Context) error { return r.tellServer(ctx, r.client) })
		g.essential("leader election", r.stand)
	}
	if !r.runs(nodePart) {
		g.running.Go(func() { r.tellReady(g.ctx) })
		return
	}
	g.essential(nodePart, func(ctx context.Context) error {
		return r.runNode(ctx, r.keys, func() {
			r.step("node runs")
			g.running.Go(func() { r.tellReady(ctx) })
		})
	})
}
