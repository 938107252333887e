package cluster

import (
	"context"
	"time"

	"k8s.io/client-go/informers"

	"github.com/lifepod/lifepod/cluster/controllers"
	"github.com/lifepod/lifepod/cluster/lead"
)

// informers are new ones, for parts that share them.
func (r *run) informers() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTransform(controllers.Trim))
}

// stand runs what only one server does, whenever it is this one.
func (r *run) stand(ctx context.Context) error {
	defer close(r.led)
	return lead.Run(ctx, lead.Config{Client: r.client, Identity: r.identity, Lease: r.Lease, Log: r.Log}, r.lead)
}

// lead runs it until ctx ends. Its informers are its own: they end with it, and with
// them what the parts have added to them.
func (r *run) lead(ctx context.Context) {
	term := &run{layout: r.layout, keys: r.keys, server: r.server, client: r.client, shared: r.informers()}
	g := newGroup(ctx, r.Log)
	defer g.cancel(nil)
	for _, p := range parts {
		if p.once && r.runs(p.name) {
			g.restarted(p.name, func(ctx context.Context) error { return p.run(term, ctx) })
		}
	}
	g.running.Wait()
	term.shared.Shutdown()
}

// leaveTime is how long the API server of this process serves the leader that ends,
// so that it can give the lease up.
const leaveTime = 3 * time.Second

// serve is the API server until ctx ends, and the leader has ended with it.
func (r *run) serve(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		if !r.Etcd.Given() {
			return
		}
		select {
		case <-r.led:
		case <-time.After(leaveTime):
		}
	})
	defer stop()
	return r.server.Run(serving)
}
