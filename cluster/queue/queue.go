// Package queue does the work of a controller's queue.
package queue

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Work does the items of a queue, at most atOnce at a time, until ctx ends and all that were begun have returned. It calls failed for an
// item that fails, and adds it again after the back-off of the queue.
func Work[T comparable](ctx context.Context, queue workqueue.TypedRateLimitingInterface[T], atOnce int, do func(context.Context, T) error, failed func(T, error)) {
	defer context.AfterFunc(ctx, queue.ShutDown)()
	var working sync.WaitGroup
	for range atOnce {
		working.Go(func() {
			for item, shutdown := queue.Get(); !shutdown; item, shutdown = queue.Get() {
				if err := do(ctx, item); err != nil && ctx.Err() == nil {
					failed(item, err)
					queue.AddRateLimited(item)
				} else {
					queue.Forget(item)
				}
				queue.Done(item)
			}
		})
	}
	working.Wait()
}
