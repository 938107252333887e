package worker

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/hook"
)

// runHook runs one lifecycle hook. Its failure is worded for the waiting reason
// PostStartHookError (A-HOOK-1); one that reached its deadline is Uncertain.
func (h *executor) runHook(ctx context.Context, e lifecycle.RunHook) lifecycle.Fact {
	spec := containerSpec(h.pod, e.Container)
	warnings, err := hook.Run{
		Commands: h.commands, Log: h.engine.Log, Handler: hookSpec(spec, e.Hook),
		Pod: h.pod, Container: spec, ContainerID: e.ContainerID, PodIP: e.PodIP,
	}.Await(ctx, e.Deadline)
	return lifecycle.HookEnded{Result: result(ctx, e.ID, err), Warnings: warnings}
}

func hookSpec(c *v1.Container, kind lifecycle.HookKind) *v1.LifecycleHandler {
	if kind == lifecycle.PostStart {
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}
