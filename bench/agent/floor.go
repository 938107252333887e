package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
)

// measureFloor is the turn of the bare calls.
func (s *testbed) measureFloor(ctx context.Context, r *results) error {
	for i := range s.n + 1 {
		record := r.times.When(i > 0).Prefixed(floor + " ")
		if err := s.floor.One(ctx, bareOf(newPod("")), record); err != nil {
			return err
		}
		if err := s.floor.RestartAll(ctx, bareOf(newWorkerPod("")), record); err != nil {
			return err
		}
	}
	if s.plan.pods == 0 {
		return nil
	}
	pods := make([]*v1.Pod, s.plan.pods)
	for i := range pods {
		pods[i] = bareOf(newPod(""))
	}
	return s.floor.AtOnce(ctx, pods, r.times.When(true).Prefixed(floor+" "))
}

// together creates or deletes pods with all requests under way at the same time.
func together(pods []*v1.Pod, do func(*v1.Pod) error) error {
	return bare.Together(len(pods), func(i int) error { return do(pods[i]) })
}
