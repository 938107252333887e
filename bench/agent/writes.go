package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
)

// What happens to pods whose writes are counted; each is the same as in the rows of times.
const (
	created       = "created"
	restarted     = "one restart"
	deleted       = "deleted"
	workerCreated = "worker created"
	allRestarted  = "restart all"
)

type counted struct {
	written
	pods int
}

// countWrites takes pods through their lives one after the other. After each step it waits until
// the node has told of everything.
func (s *side) countWrites(ctx context.Context, r *results) error {
	if s.plan.writes == 0 {
		return nil
	}
	if _, err := s.writesOf(ctx, func() error { return nil }); err != nil { // of the crowd's end: events may come late
		return err
	}
	pods, workers := make([]*v1.Pod, s.plan.writes), make([]*v1.Pod, s.plan.writes)
	for i := range pods {
		pods[i], workers[i] = testbed.NewPod(s.Member.Name), testbed.NewWorkerPod(s.Member.Name)
	}
	for _, step := range []struct {
		what string
		of   []*v1.Pod
		do   func(context.Context, *v1.Pod) error
	}{
		{created, pods, s.createOne},
		{restarted, pods, s.restartOne},
		{deleted, pods, s.Remove},
		{workerCreated, workers, s.createOne},
		{allRestarted, workers, s.restartOne},
	} {
		testbed.Progress("  writes: %s", step.what)
		writes, err := s.writesOf(ctx, func() error {
			for _, pod := range step.of {
				if err := step.do(ctx, pod); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.count(s.Name, step.what, counted{writes, len(step.of)})
	}
	return s.Clear()
}

func (s *side) createOne(ctx context.Context, pod *v1.Pod) error {
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	_, err := s.Pods.Await(ctx, "a pod to be ready", testbed.Ready(pod.Name))
	return err
}

// restartOne kills main, which restarts it, or all containers if its rule says so.
func (s *side) restartOne(ctx context.Context, pod *v1.Pod) error {
	if _, err := s.KillMain(ctx, pod.Name); err != nil {
		return err
	}
	_, err := s.Pods.Await(ctx, "all containers to have restarted", testbed.Restarted(pod.Name))
	return err
}
