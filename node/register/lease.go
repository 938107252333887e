package register

import (
	"context"
	"errors"
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

// keepLease renews the node's Lease until ctx ends. The controller would wait
// for up to 7 s between attempts, and write a line for each: so it is stopped
// when nobody answers it, and begins anew when the follower has found the API
// server again.
func (n *Node) keepLease(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		failed := n.renewLease(ctx)
		if time.Since(began) > n.renewEvery() {
			wait = firstWait
		}
		if !failed {
			continue
		}
		if !n.awaitBack(ctx) || !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, longestRefused)
	}
}

func (n *Node) renewEvery() time.Duration {
	return time.Duration(n.config.Timing.LeaseSeconds) * time.Second / renewals
}

// renewLease renews until nobody answered twice in a row, or until an outage of the
// API server is over: then it is to begin anew, without a wait that dates from it.
func (n *Node) renewLease(ctx context.Context) (failed bool) {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, logr.FromSlogHandler(n.config.Log.Handler())))
	defer stop()
	broken := func() {
		if ctx.Err() == nil {
			stop()
			n.config.API.Broken()
		}
	}
	name := n.config.Name
	client := &leaseClient{Interface: n.config.API.Heartbeats, timeout: min(writeTimeout, n.renewEvery()), broken: broken}
	controller := lease.NewController(clock.RealClock{}, client, name, n.config.Timing.LeaseSeconds, nil,
		n.renewEvery(), name, v1.NamespaceNodeLease, n.own)
	ended := make(chan struct{})
	go func() { defer close(ended); controller.Run(ctx) }()
	select {
	case <-ended:
		return true
	case <-n.over:
		stop()
		<-ended
		return false
	}
}

// awaitBack has the follower ask for the API server, and waits for its answer.
func (n *Node) awaitBack(ctx context.Context) bool {
	select {
	case <-n.back: // of earlier
	default:
	}
	poke(n.relist)
	select {
	case <-ctx.Done():
		return false
	case <-n.back:
		return true
	}
}

// own makes the Lease one of the Node's, with which it is deleted.
func (n *Node) own(l *coordinationv1.Lease) error {
	node := n.newest.Load()
	if node == nil {
		return errors.New("the node is not known yet")
	}
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return nil
}
