package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	probed := &answers{ready: true}
	server := httptest.NewServer(probed)
	defer server.Close()
	pod, err := newProbedPod(s.Member.Name, server.Listener.Addr().String())
	if err != nil {
		return err
	}
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	if _, err := s.boards.endpoints.Await(ctx, "an endpoint", endpoint(pod.Name, true)); err != nil {
		return err
	}
	for range s.plan.n {
		for _, up := range []bool{false, true} {
			s.Pause(ctx)
			probed.become(up)
			at, err := s.boards.endpoints.Await(ctx, fmt.Sprintf("an endpoint with ready %v", up), endpoint(pod.Name, up))
			if err != nil {
				return err
			}
			record("readiness flip", at.Sub(probed.answeredAt()))
		}
	}
	return s.Remove(ctx, pod)
}

// newProbedPod is a pod of the Service; the probe asks this process.
func newProbedPod(node, address string) (*v1.Pod, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	pod := testbed.NewPod(node)
	pod.Labels = map[string]string{"app": service}
	pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Host: host, Port: intstr.FromInt(number)}},
		PeriodSeconds: 1, FailureThreshold: 1,
	}
	return pod, nil
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

// answers is what the probe asks. It notes when it first gave a new answer.
type answers struct {
	mu    sync.Mutex
	ready bool
	fresh bool
	at    time.Time
}

// ServeHTTP answers a probe.
func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh {
		a.fresh, a.at = false, time.Now()
	}
	if !a.ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (a *answers) become(ready bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready, a.fresh = ready, true
}

func (a *answers) answeredAt() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}
