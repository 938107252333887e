package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/life"
	"github.com/lifepod/lifepod/bench/probed"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// readiness measures how long after the answer of a readiness probe the status
// says so, in both directions.
func (b *bed) readiness(ctx context.Context, record times.Record) error {
	asked := probed.New()
	defer asked.Close()
	pod := bare.NewPod("bench")
	pod.Spec.Containers[0].ReadinessProbe = asked.Probe()
	l, err := b.begin(ctx, pod)
	if err != nil {
		return err
	}
	for _, up := range []bool{false, true} {
		asked.Become(up)
		if _, err := l.Await(func(p v1.PodStatus) bool { return life.Ready(p) == up }); err != nil {
			return err
		}
		record("lifepod readiness flip", time.Since(asked.AnsweredAt()))
	}
	return l.End(lifecycle.StopRequested{Force: true})
}
