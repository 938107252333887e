package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
)

// crowd measures many pods: created at once, doing nothing, deleted at once.
func (s *side) crowd(ctx context.Context, r *results) error {
	record := r.times.When(true).Prefixed(s.Name + " ")
	pods := make([]*v1.Pod, s.plan.pods)
	for i := range pods {
		pods[i] = testbed.NewPod(s.Member.Name)
	}
	testbed.Progress("  %d at once", len(pods))
	took, err := s.CreateAll(ctx, pods)
	if err != nil {
		return err
	}
	record(fmt.Sprintf("%d created at once", len(pods)), took)
	testbed.Progress("  %d that do nothing", len(pods))
	l, err := s.Idle(ctx, s.plan.idle)
	if err != nil {
		return err
	}
	r.loads.Add(s.Name, l)
	testbed.Progress("  %v", l)
	if err := s.profileIdle(ctx); err != nil {
		return err
	}
	if took, err = s.DeleteAll(ctx, pods); err != nil {
		return err
	}
	record(fmt.Sprintf("%d deleted at once", len(pods)), took)
	return nil
}
