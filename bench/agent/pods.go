package main

import (
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const (
	namespace = v1.NamespaceDefault
	image     = "lifepod.dev/toolbox:1"
)

var serial atomic.Int64

// newPod is what is measured: one container that ends at once on its stop signal.
// All the rest is as the API server has it by default, the service account's
// volume included.
func newPod(node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", serial.Add(1)), Namespace: namespace},
		Spec: v1.PodSpec{
			NodeName:                      node,
			RestartPolicy:                 v1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(30)),
			Containers:                    []v1.Container{newContainer("main", "sleep", "infinity")},
		},
	}
}

func newContainer(name string, command ...string) v1.Container {
	return v1.Container{Name: name, Image: image, Command: command, ImagePullPolicy: v1.PullIfNotPresent}
}

// newWorkerPod is a training pod in small: a set-up that ends at once, a sidecar,
// and a main container whose death by a signal restarts all of them.
func newWorkerPod(node string) *v1.Pod {
	pod := newPod(node)
	setup, watcher, main := newContainer("setup", "true"), newContainer("watcher", "sleep", "infinity"), newContainer("main", "sleep", "infinity")
	always, never := v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever
	watcher.RestartPolicy, main.RestartPolicy = &always, &never
	main.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{137}},
	}}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.InitContainers, pod.Spec.Containers = []v1.Container{setup, watcher}, []v1.Container{main}
	return pod
}

// bareOf is the same pod for bare calls, which know nothing of API defaults.
func bareOf(pod *v1.Pod) *v1.Pod {
	pod.UID = uuid.NewUUID()
	pod.Spec.NodeName = ""
	pod.Spec.SecurityContext = &v1.PodSecurityContext{}
	pod.Spec.DNSPolicy = v1.DNSDefault
	pod.Status.QOSClass = v1.PodQOSBestEffort
	return pod
}

func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// ready wants a pod to be Ready.
func ready(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool { return pods[name] != nil && isReady(pods[name]) }
}

// restarted wants main to run for the second time, and what runs beside it too.
func restarted(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool {
		pod := pods[name]
		if pod == nil || len(pod.Status.ContainerStatuses) == 0 || !isReady(pod) {
			return false
		}
		for _, c := range pod.Status.InitContainerStatuses {
			if c.RestartCount == 0 {
				return false
			}
		}
		main := pod.Status.ContainerStatuses[0]
		return main.RestartCount == 1 && main.State.Running != nil
	}
}

// gone wants a pod not to be there.
func gone(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool { return pods[name] == nil }
}

// all wants the same of several pods.
func all(of []*v1.Pod, wanted func(name string) func(map[string]*v1.Pod) bool) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool {
		for _, pod := range of {
			if !wanted(pod.Name)(pods) {
				return false
			}
		}
		return true
	}
}
