package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
)

// measureFloor is the turn of the bare calls.
func (s *bench) measureFloor(ctx context.Context, r *results) error {
	for i := range s.plan.n + 1 {
		record := r.times.When(i > 0).Prefixed(floor + " ")
		if err := s.Floor.One(ctx, testbed.BareOf(testbed.NewPod("")), record); err != nil {
			return err
		}
		if err := s.Floor.RestartAll(ctx, testbed.BareOf(testbed.NewWorkerPod("")), record); err != nil {
			return err
		}
	}
	if s.plan.pods == 0 {
		return nil
	}
	pods := make([]*v1.Pod, s.plan.pods)
	for i := range pods {
		pods[i] = testbed.BareOf(testbed.NewPod(""))
	}
	return s.Floor.AtOnce(ctx, pods, r.times.When(true).Prefixed(floor+" "))
}
