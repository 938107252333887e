package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/mailbox"
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
	changed := mailbox.NewSignal()
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed.Send() },
		DeleteFunc: func(any) { changed.Send() },
		UpdateFunc: func(old, now any) {
			if claimOf(old.(*v1.Node)) != claimOf(now.(*v1.Node)) {
				changed.Send()
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
	changed.Send()
	t := &table{pods: c.Pods, log: c.Log, warned: map[string]string{}}
	p := &plan{Config: c}
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
		p.decide(list)
		if err := t.apply(p.routes); err != nil {
			c.Log.Warn("can't set routes to other nodes: trying again", "in", retry, "err", err)
			again.Reset(retry)
		}
	}
}
