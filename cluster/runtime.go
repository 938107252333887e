package cluster

import (
	"context"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/node"
)

// openRuntime starts the container runtime beside everything else, and gives it the carried
// images, so that the node finds both there. An error is the node's to tell.
func (r *run) openRuntime(ctx context.Context) (closeRuntime func()) {
	r.runtimeTried = make(chan struct{})
	if !r.runs(nodePart) {
		return func() {}
	}
	opened := make(chan *bundle.Runtime, 1)
	go func() {
		defer close(r.runtimeTried)
		runtime, err := bundle.Open(ctx, bundle.Config{Root: r.Root, CNI: &r.CNI, OCIRuntime: r.OCIRuntime, Log: r.Log})
		if err != nil {
			runtime = nil
		}
		opened <- runtime
		if runtime == nil {
			return
		}
		r.step("container runtime answers")
		if _, err := runtime.ImportImages(ctx); err == nil {
			r.step("carried images there")
		}
	}()
	return func() {
		if runtime := <-opened; runtime != nil {
			closing, done := context.WithTimeout(context.WithoutCancel(ctx), node.CloseTimeout)
			defer done()
			if err := runtime.Close(closing); err != nil {
				r.Log.Error("stop the container runtime", "err", err)
			}
		}
	}
}

// awaitRuntime returns when the container runtime runs and has the carried images, or that
// has failed. The node does the same, and would do it twice at the same time.
func (r *run) awaitRuntime(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.runtimeTried:
		return nil
	}
}
