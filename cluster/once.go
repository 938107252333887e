package cluster

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/cluster/lead"
)

// stand runs what only one server does, whenever it is this one.
func (r *run) stand(ctx context.Context) error {
	defer close(r.led)
	return lead.Run(ctx, lead.Config{Client: r.client, Identity: r.identity, Lease: r.Lease, Log: r.Log}, r.lead)
}

// lead runs it until ctx ends. Its informers are its own: they end with it, and with
// them what the parts have added to them.
func (r *run) lead(ctx context.Context) {
	g := newGroup(ctx, r.Log)
	defer g.cancel(nil)
	shared := r.informers()
	r.runOn(g, shared, r.wanted(func(p part) bool { return p.once }))
	g.running.Wait()
	shared.Shutdown()
}

// leaveTime is how long the API server of this process serves the leader that ends,
// so that it can give the lease up.
const leaveTime = 3 * time.Second

// endRequests is how long the API server may take to end. Its requests that take longer,
// such as one that waits for a webhook, end with the process.
const endRequests = 5 * time.Second

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
	ended := make(chan error, 1)
	go func() {
		defer close(ended) // a part that ends its goroutine gives no answer
		ended <- guarded(serving, "serve", r.server.Run)
	}()
	select {
	case err := <-ended:
		return err
	case <-serving.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endRequests):
		r.Log.Warn("the API server ends before all of its requests were answered")
		return nil
	}
}
