package worker

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/handler"
)

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
