package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/probed"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// service is the name of the Service, and the label that its pod has.
const service = "probed"

func (s *bench) createService(ctx context.Context) error {
	_, err := s.API.CoreV1().Services(testbed.Namespace).Create(ctx, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec: v1.ServiceSpec{
			Selector: map[string]string{"app": service},
			Ports:    []v1.ServicePort{{Port: 80}},
		},
	}, metav1.CreateOptions{})
	return err
}

// readiness measures how long after a probe's new answer the EndpointSlice says so,
// in both directions.
func (s *side) readiness(ctx context.Context, record times.Record) error {
	asked := probed.New()
	defer asked.Close()
	pod := testbed.NewPod(s.Member.Name)
	pod.Labels = map[string]string{"app": service}
	pod.Spec.Containers[0].ReadinessProbe = asked.Probe()
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	if _, err := s.boards.endpoints.Await(ctx, "an endpoint", endpoint(pod.Name, true)); err != nil {
		return err
	}
	for range s.plan.n {
		for _, up := range []bool{false, true} {
			s.Pause(ctx)
			asked.Become(up)
			at, err := s.boards.endpoints.Await(ctx, fmt.Sprintf("an endpoint with ready %v", up), endpoint(pod.Name, up))
			if err != nil {
				return err
			}
			record("readiness flip", at.Sub(asked.AnsweredAt()))
		}
	}
	return s.Remove(ctx, pod)
}

// endpoint wants a pod's endpoint to be ready, or not.
func endpoint(pod string, ready bool) func(map[string]*discoveryv1.EndpointSlice) bool {
	return func(slices map[string]*discoveryv1.EndpointSlice) bool {
		for _, slice := range slices {
			for _, e := range slice.Endpoints {
				if e.TargetRef != nil && e.TargetRef.Name == pod && e.Conditions.Ready != nil {
					return *e.Conditions.Ready == ready
				}
			}
		}
		return false
	}
}
