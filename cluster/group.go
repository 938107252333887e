package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// group is what runs beside one another.
type group struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	log     *slog.Logger
	running sync.WaitGroup
	mu      sync.Mutex
	err     error
}

func newGroup(ctx context.Context, log *slog.Logger) *group {
	g := &group{log: log}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// essential is a part without which there is no cluster: when it ends, all end.
func (g *group) essential(name string, run func(context.Context) error) {
	g.running.Go(func() {
		err := guarded(g.ctx, name, run)
		if g.ctx.Err() != nil {
			if err != nil {
				g.log.Warn("a part of the cluster ended with an error", "part", name, "err", err)
			}
			return
		}
		g.mu.Lock()
		if g.err == nil {
			g.err = err
		}
		g.mu.Unlock()
		g.cancel(err)
	})
}

// A part that fails is started again after a while, a longer one each time.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
)

// restarted is a part that the others do without for a while.
func (g *group) restarted(name string, run func(context.Context) error) {
	g.running.Go(func() {
		for wait := firstRestart; ; wait = min(2*wait, lastRestart) {
			ctx, ended := context.WithCancel(g.ctx)
			err := guarded(ctx, name, run)
			ended() // what is left of it ends before it begins again
			if g.ctx.Err() != nil {
				return
			}
			g.log.Error("a part of the cluster has failed and is started again", "part", name, "err", err, "in", wait)
			select {
			case <-g.ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	})
}

// guarded makes an error of a panic, and of an end that nobody asked for.
func guarded(ctx context.Context, name string, run func(context.Context) error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", name, reason, debug.Stack())
		}
	}()
	if err := run(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("%s: ended", name)
	}
	return nil
}

// afterFailure is how long the others may take to end when an essential part has
// failed: an API server without etcd waits for answers that never come.
const afterFailure = 5 * time.Second

// wait returns when all have ended.
func (g *group) wait() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.running.Wait()
	}()
	select {
	case <-ended:
		return g.failure()
	case <-g.ctx.Done():
	}
	if g.failure() == nil {
		<-ended
		return g.failure()
	}
	select {
	case <-ended:
	case <-time.After(afterFailure):
		g.log.Warn("parts of the cluster do not end; the process ends without them")
	}
	return g.failure()
}

// failure is that of an essential part.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *group) end() error {
	g.cancel(nil)
	return g.wait()
}
