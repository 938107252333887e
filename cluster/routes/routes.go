package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Config says which nodes' pods are to be reached.
type Config struct {
	Informers informers.SharedInformerFactory // Nodes: addresses and podCIDRs are used
	Node      string                          // name of this node
	Pods      netip.Prefix                    // range of pod addresses of the cluster
	Log       *slog.Logger
}

// retry is when what the kernel refused is tried again, should no link change before.
const retry = 30 * time.Second

// Run keeps the routes up to date until ctx ends, and leaves them then.
func Run(ctx context.Context, c Config) error {
	nodes := c.Informers.Core().V1().Nodes()
	informer := nodes.Informer()
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { change() },
		DeleteFunc: func(any) { change() },
		UpdateFunc: func(old, now any) {
			if !maps.Equal(wanted(c, old.(*v1.Node)), wanted(c, now.(*v1.Node))) {
				change()
			}
		},
	})
	if err != nil {
		return fmt.Errorf("routes to other nodes: %w", err)
	}
	defer func() { _ = informer.RemoveEventHandler(handle) }() // its only error: it has stopped
	c.Informers.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), handle.HasSynced) {
		return nil
	}
	links, err := watchLinks(ctx, c.Pods)
	if err != nil {
		return err
	}
	change()
	t := &table{pods: c.Pods, log: c.Log, told: map[string]string{}}
	again := time.NewTimer(0)
	again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again.C:
		case _, open := <-links:
			if !open {
				return errors.New("routes to other nodes: the kernel tells of no changes any more")
			}
		}
		list, err := nodes.Lister().List(labels.Everything())
		if err != nil {
			return fmt.Errorf("routes to other nodes: %w", err)
		}
		all := map[netip.Prefix]hop{}
		for _, n := range list {
			maps.Copy(all, wanted(c, n))
		}
		if err := t.apply(all); err != nil {
			c.Log.Warn("routes to other nodes are tried again", "in", retry, "err", err)
			again.Reset(retry)
		}
	}
}

// hop is where a route leads.
type hop struct {
	node string
	at   netip.Addr // InternalIP
}

// wanted are the routes to a node's pods; none if it is this one.
func wanted(c Config, n *v1.Node) map[netip.Prefix]hop {
	if n.Name == c.Node {
		return nil
	}
	at := internalIP(n)
	if !at.IsValid() {
		return nil
	}
	all := map[netip.Prefix]hop{}
	for _, text := range n.Spec.PodCIDRs {
		// No Node may draw other packets than those to pods.
		if p, err := netip.ParsePrefix(text); err == nil && p.Bits() >= c.Pods.Bits() && c.Pods.Contains(p.Addr()) {
			all[p.Masked()] = hop{node: n.Name, at: at}
		}
	}
	return all
}

func internalIP(n *v1.Node) netip.Addr {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == v1.NodeInternalIP && ip.Is4() {
			return ip
		}
	}
	return netip.Addr{}
}
