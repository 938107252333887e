package main

import (
	"context"
	"fmt"
	"time"

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
	took, err := s.createCrowd(ctx, r, pods)
	if err != nil {
		return err
	}
	record(atOnce(len(pods)), took)
	testbed.Progress("  %d that do nothing", len(pods))
	l, err := s.Idle(ctx, s.plan.idle)
	if err != nil {
		return err
	}
	r.loads[s.Name] = append(r.loads[s.Name], l)
	testbed.Progress("  %v", l)
	if took, err = s.DeleteAll(ctx, pods); err != nil {
		return err
	}
	record(fmt.Sprintf("%d deleted at once", len(pods)), took)
	return nil
}

// createCrowd creates pods at once, and files what the node writes and uses of a CPU until it has told
// of all of them.
func (s *side) createCrowd(ctx context.Context, r *results, pods []*v1.Pod) (took time.Duration, err error) {
	before, err := s.CPUTime()
	if err != nil {
		return 0, err
	}
	writes, err := s.writesOf(ctx, func() error {
		took, err = s.CreateAll(ctx, pods)
		return err
	})
	if err != nil {
		return 0, err
	}
	after, err := s.CPUTime()
	if err != nil {
		return 0, err
	}
	r.count(s.Name, atOnce(len(pods)), counted{writes, len(pods)})
	r.created[s.Name] = append(r.created[s.Name], (after-before)/time.Duration(len(pods)))
	return took, nil
}

func atOnce(pods int) string { return fmt.Sprintf("%d created at once", pods) }
