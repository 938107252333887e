package testbed

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/e2e/machine"
)

const (
	// Namespace is that of all pods.
	Namespace = v1.NamespaceDefault
	// Image is the toolbox.
	Image = "lifepod.dev/toolbox:1"
)

var serial atomic.Int64

// NewPod is what is measured: one container that ends at once on its stop signal.
// All the rest is as the API server has it by default, the service account's
// volume included.
func NewPod(node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", serial.Add(1)), Namespace: Namespace},
		Spec: v1.PodSpec{
			NodeName:                      node,
			RestartPolicy:                 v1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(30)),
			Containers:                    []v1.Container{newContainer("main", "sleep", "infinity")},
		},
	}
}

func newContainer(name string, command ...string) v1.Container {
	return v1.Container{Name: name, Image: Image, Command: command, ImagePullPolicy: v1.PullIfNotPresent}
}

func Ready(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool { return pods[name] != nil && machine.IsReady(pods[name]) }
}

// Gone wants a pod not to be there.
func Gone(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool { return pods[name] == nil }
}

// All wants the same of several pods.
func All(of []*v1.Pod, wanted func(name string) func(map[string]*v1.Pod) bool) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool {
		for _, pod := range of {
			if !wanted(pod.Name)(pods) {
				return false
			}
		}
		return true
	}
}

func (s *Testbed) Create(ctx context.Context, pod *v1.Pod) error {
	_, err := s.API.CoreV1().Pods(Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (s *Testbed) Delete(ctx context.Context, pod *v1.Pod) error {
	return s.API.CoreV1().Pods(Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
}

// Remove deletes a pod whose end nobody measures, and waits for that.
func (s *Testbed) Remove(ctx context.Context, pod *v1.Pod) error {
	if err := s.Delete(ctx, pod); err != nil {
		return err
	}
	_, err := s.Pods.Await(ctx, "the end of a pod", Gone(pod.Name))
	return err
}

// CreateAll creates pods at once and says how long it took until all were Ready.
func (s *Testbed) CreateAll(ctx context.Context, pods []*v1.Pod) (time.Duration, error) {
	began := time.Now()
	if err := together(pods, func(pod *v1.Pod) error { return s.Create(ctx, pod) }); err != nil {
		return 0, err
	}
	at, err := s.Pods.Await(ctx, "all pods to be ready", All(pods, Ready))
	return at.Sub(began), err
}

// DeleteAll deletes pods at once and says how long it took until all were gone.
func (s *Testbed) DeleteAll(ctx context.Context, pods []*v1.Pod) (time.Duration, error) {
	began := time.Now()
	if err := together(pods, func(pod *v1.Pod) error { return s.Delete(ctx, pod) }); err != nil {
		return 0, err
	}
	at, err := s.Pods.Await(ctx, "the end of all pods", All(pods, Gone))
	return at.Sub(began), err
}

// together creates or deletes pods with all requests under way at the same time.
func together(pods []*v1.Pod, do func(*v1.Pod) error) error {
	return bare.Together(len(pods), len(pods), func(i int) error { return do(pods[i]) })
}

// mainOf is the ID of a pod's first container, as the runtime has it.
func (s *Testbed) mainOf(pod string) string {
	return strings.TrimPrefix(s.Pods.Now(pod).Status.ContainerStatuses[0].ContainerID, "containerd://")
}
