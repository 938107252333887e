package main

import (
	"context"
	"fmt"
	"github.com/lifepod/lifepod/bench/process"
	"time"

	v1 "k8s.io/api/core/v1"
)

// restTime is how long many pods that have just started may still stir things.
const restTime = 10 * time.Second

// crowd measures many pods: created at once, doing nothing, deleted at once.
func (s *side) crowd(ctx context.Context, r *results) error {
	record := r.times.When(true).Prefixed(s.name + " ")
	pods := make([]*v1.Pod, s.plan.pods)
	for i := range pods {
		pods[i] = newPod(s.member.Name)
	}
	progress("  %d at once", len(pods))
	began := time.Now()
	if err := together(pods, func(pod *v1.Pod) error { return s.create(ctx, pod) }); err != nil {
		return err
	}
	at, err := s.pods.await(ctx, "all pods to be ready", all(pods, ready))
	if err != nil {
		return err
	}
	record(fmt.Sprintf("%d created at once", len(pods)), at.Sub(began))
	if err := s.idle(ctx, r); err != nil {
		return err
	}
	began = time.Now()
	if err := together(pods, func(pod *v1.Pod) error { return s.delete(ctx, pod) }); err != nil {
		return err
	}
	if at, err = s.pods.await(ctx, "the end of all pods", all(pods, gone)); err != nil {
		return err
	}
	record(fmt.Sprintf("%d deleted at once", len(pods)), at.Sub(began))
	return nil
}

// idle watches the process while its pods do nothing.
func (s *side) idle(ctx context.Context, r *results) error {
	progress("  %d that do nothing", s.plan.pods)
	pid := s.member.Process().PID()
	if err := sleep(ctx, restTime); err != nil {
		return err
	}
	before, err := process.CPUTime(pid)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := sleep(ctx, s.plan.idle); err != nil {
		return err
	}
	after, err := process.CPUTime(pid)
	if err != nil {
		return err
	}
	l := load{cpu: 100 * (after - before).Seconds() / time.Since(began).Seconds()}
	if l.resident, l.anonymous, err = process.Memory(pid); err != nil {
		return err
	}
	r.loads.add(s.name, l)
	progress("  %v", l)
	return s.profileIdle(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
