package register

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// renewals of a Lease fall into the time that it is good for.
const renewals = 4

// leaseRenewer renews the node's Lease.
type leaseRenewer struct {
	name    string
	api     API
	seconds int32 // that the Lease is good for
	object  *object
	link    link
	log     *slog.Logger
}

// run renews the Lease until ctx ends. The controller would wait
// for up to 7 s between attempts, and write a line for each: so it is stopped
// when nobody answers it, and begins anew when the follower has found the API
// server again.
func (k leaseRenewer) run(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		failed := k.renewLease(ctx)
		if time.Since(began) > k.renewEvery() {
			wait = firstWait
		}
		if !failed {
			continue
		}
		if !k.awaitBack(ctx) || !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, longestRefused)
	}
}

func (k leaseRenewer) renewEvery() time.Duration {
	return time.Duration(k.seconds) * time.Second / renewals
}

// renewLease renews until nobody answered twice in a row, or until an outage of the
// API server is over: then it is to begin anew, without a wait that dates from it.
func (k leaseRenewer) renewLease(ctx context.Context) (failed bool) {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, logr.FromSlogHandler(k.log.Handler())))
	defer stop()
	broken := func() {
		if ctx.Err() == nil {
			stop()
			k.api.Broken()
		}
	}
	client := &leaseClient{Interface: k.api.Heartbeats, timeout: min(writeTimeout, k.renewEvery()), broken: broken}
	controller := lease.NewController(clock.RealClock{}, client, k.name, k.seconds, nil,
		k.renewEvery(), k.name, v1.NamespaceNodeLease, func(l *coordinationv1.Lease) error { return k.own(ctx, l) })
	var over atomic.Bool
	k.link.over.await(func() { over.Store(true); stop() })
	defer k.link.over.await(nil)
	controller.Run(ctx)
	return !over.Load()
}

// awaitBack has the follower ask for the API server, and waits for its answer. A follower of
// many Nodes is not asked by each of them: the next attempt will show.
func (k leaseRenewer) awaitBack(ctx context.Context) bool {
	if k.api.Shared != nil {
		return ctx.Err() == nil
	}
	select {
	case <-k.link.back: // of earlier
	default:
	}
	k.link.relist.Send()
	select {
	case <-ctx.Done():
		return false
	case <-k.link.back:
		return true
	}
}

// own makes the Lease one of the Node's, with which it is deleted. A Lease of before is
// renewed although the Node is not known yet; a new one, or one of nobody, waits for it.
func (k leaseRenewer) own(ctx context.Context, l *coordinationv1.Lease) error {
	node := k.object.newest.Load()
	if node == nil && len(l.OwnerReferences) > 0 {
		return nil
	}
	if node == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-k.object.known:
			node = k.object.newest.Load()
		}
	}
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return nil
}
