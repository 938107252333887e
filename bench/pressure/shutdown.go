package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/node/shutdown/logindtest"
)

// shutdownOf is what is measured of a shutdown.
func (p plan) shutdownOf() string { return fmt.Sprintf("shutdown with %d pods", p.shutdown) }

// measureShutdown measures for how long a shutdown is held up, and which pods' ends the
// API knows when it goes on. The shutdown is cancelled afterwards.
func (s *side) measureShutdown(ctx context.Context, r *results) error {
	pods := make([]*v1.Pod, s.bench.plan.shutdown)
	for i := range pods {
		pods[i] = newSlowPod(s.Member.Name)
	}
	testbed.Progress("  shutdown with %d pods", len(pods))
	if _, err := s.CreateAll(ctx, pods); err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.bench.bus.logind.PrepareForShutdown(true); err != nil {
		return err
	}
	select {
	case <-lock.Released:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(testbed.Patience):
		return errors.New("the shutdown is still held up")
	}
	took := time.Since(began)
	untold, err := s.untold(ctx)
	if err != nil {
		return err
	}
	r.times.When(true).Prefixed(s.Name+" ")(s.bench.plan.shutdownOf(), took)
	if r.untold == nil {
		r.untold = map[string]int{}
	}
	r.untold[s.Name] += untold
	testbed.Progress("  held up for %v, %d ends untold", took.Round(time.Millisecond), untold)
	if err := s.bench.bus.logind.PrepareForShutdown(false); err != nil {
		return err
	}
	_, err = s.DeleteAll(ctx, pods)
	return err
}

// newSlowPod takes a second to end.
func newSlowPod(node string) *v1.Pod {
	pod := newPod(node)
	pod.Spec.Containers[0].Command = []string{"sh", "-c", "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done"}
	return pod
}

// lock is the one that the node holds: the last that was taken.
func (s *side) lock(ctx context.Context) (*logindtest.Lock, error) {
	for {
		select {
		case lock := <-s.bench.bus.logind.Locks:
			select {
			case <-lock.Released: // of a process before
			default:
				return lock, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(testbed.Patience):
			return nil, errors.New("no lock holds up shutdowns")
		}
	}
}

// untold counts the pods that still run as far as the API knows.
func (s *side) untold(ctx context.Context) (count int, err error) {
	list, err := s.API.CoreV1().Pods(testbed.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range list.Items {
		if phase := list.Items[i].Status.Phase; phase != v1.PodFailed && phase != v1.PodSucceeded {
			count++
		}
	}
	return count, nil
}
