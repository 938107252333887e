package faults

import (
	"context"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// watchReady follows the node's Ready condition; the result tells all that it was.
func (n *node) watchReady(t *testing.T) (was func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	check := func(o any) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range o.(*v1.Node).Status.Conditions {
			if c.Type != v1.NodeReady {
				continue
			}
			if is := string(c.Status) + " " + c.Reason; len(all) == 0 || all[len(all)-1] != is {
				all = append(all, is)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(admin.CoreV1().RESTClient(), "nodes", "", fields.OneTermEqualSelector("metadata.name", n.Name)),
		ObjectType:    &v1.Node{},
		Handler:       cache.ResourceEventHandlerFuncs{AddFunc: check, UpdateFunc: func(_, o any) { check(o) }},
	})
	go informer.Run(ctx.Done())
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
