package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/bench/testbed"
)

// side is the kubelet or lifepod agent.
type side struct {
	*testbed.Side
	bench *bench
}

// measure is one turn.
func (s *side) measure(ctx context.Context, r *results) error {
	pods := make([]*v1.Pod, s.bench.plan.pods)
	for i := range pods {
		pods[i] = newPod(s.Member.Name)
	}
	testbed.Progress("  %d pods", len(pods))
	if _, err := s.CreateAll(ctx, pods); err != nil {
		return err
	}
	if s.bench.plan.idle > 0 {
		testbed.Progress("  watching")
		if err := s.Rest(ctx); err != nil {
			return err
		}
		l, err := s.Idle(ctx, s.bench.plan.idle)
		if err != nil {
			return err
		}
		r.loads.Add(s.Name, l)
		testbed.Progress("  %v", l)
	}
	if err := s.evictions(ctx, r); err != nil {
		return err
	}
	for _, pod := range pods {
		if now := s.Pods.Now(pod.Name); now == nil || now.Status.Phase != v1.PodRunning {
			return fmt.Errorf("pod %s does not run any more, which uses less than it requests", pod.Name)
		}
	}
	if _, err := s.DeleteAll(ctx, pods); err != nil {
		return err
	}
	if s.bench.plan.shutdown == 0 {
		return nil
	}
	return s.measureShutdown(ctx, r)
}

// newPod is a pod that uses less than it requests.
func newPod(node string) *v1.Pod {
	pod := testbed.NewPod(node)
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse("16Mi")}
	return pod
}
