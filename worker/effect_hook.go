package worker

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/handler"
)

// runHook runs one lifecycle hook. Its failure is worded for the waiting reason
// PostStartHookError (A-HOOK-1); one that reached its deadline is Uncertain.
func (h *executor) runHook(ctx context.Context, e lifecycle.RunHook) lifecycle.Fact {
	spec := containerSpec(h.pod, e.Container)
	defer h.held.Delete(e.Container)
	warnings, err := handler.HookRun{
		Commands: h.commands, Log: h.engine.Log, Handler: hookSpec(spec, e.Hook),
		Pod: h.pod, Container: spec, ContainerID: e.ContainerID, PodIP: e.PodIP,
		Held: func(by string) {
			if ctx.Err() != nil {
				return // nobody waits for it any more
			}
			h.held.Store(e.Container, "its process has ended, but the process "+by+", which it left, holds its output open")
			h.post(nowMoved{})
		},
	}.Await(ctx, e.Deadline)
	return lifecycle.HookEnded{Result: result(ctx, e.ID, err), Warnings: warnings}
}

// heldHooks are the hooks whose own process has ended while another one holds their output, by
// container: what is to be said of each (A-HOOK-2).
type heldHooks struct{ sync.Map }

// addTo says so where the pod waits for such a hook.
func (h *heldHooks) addTo(waits []lifecycle.Wait) {
	for i := range waits {
		w := &waits[i]
		text, held := h.Load(w.Subject)
		if !held || w.For != lifecycle.WaitHook && w.For != lifecycle.WaitPreStop {
			continue
		}
		w.Held = text.(string)
	}
}

func hookSpec(c *v1.Container, kind lifecycle.HookKind) *v1.LifecycleHandler {
	if kind == lifecycle.PostStart {
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// probe makes one attempt of a probe. One that was given up has no outcome.
func (h *executor) probe(ctx context.Context, e lifecycle.Probe) lifecycle.Fact {
	spec := containerSpec(h.pod, e.Container)
	late := h.begunLate(ctx, e)
	r := handler.ProbeAttempt{
		Commands: h.commands, Probe: probeSpec(spec, e.Kind), Container: spec, ContainerID: e.ContainerID, PodIP: e.PodIP,
	}.Make(ctx)
	return lifecycle.Probed{
		Result: result(ctx, e.ID, context.Cause(ctx)), Outcome: r.Outcome, Output: r.Output, Late: late + r.Late,
	}
}

// probeDeadline is that of an attempt, with the calls that it may make.
func (h *executor) probeDeadline(e lifecycle.Probe) time.Duration {
	return h.engine.Timeouts.Of(e) + cri.ProbeTimeout(probeSpec(containerSpec(h.pod, e.Container), e.Kind))
}

// begunLate is how long ago the worker began the effect, which it gave its time.
func (h *executor) begunLate(ctx context.Context, e lifecycle.Probe) time.Duration {
	ends, _ := ctx.Deadline() // every effect has one
	return max(0, time.Since(ends.Add(-h.probeDeadline(e))))
}

func probeSpec(c *v1.Container, kind lifecycle.ProbeKind) *v1.Probe {
	switch kind {
	case lifecycle.StartupProbe:
		return c.StartupProbe
	case lifecycle.LivenessProbe:
		return c.LivenessProbe
	case lifecycle.ReadinessProbe:
		return c.ReadinessProbe
	}
	return nil
}
