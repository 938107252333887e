package stats

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

var errFailed = lifecycle.Result{Failure: &lifecycle.Failure{Message: "no"}}

// checkStarts wants these counts: pods started and their errors, those with user
// namespaces and theirs.
func checkStarts(t *testing.T, m *Metrics, started, errors, users, usersErrors int) {
	t.Helper()
	checkLines(t, m.Handler(), []string{
		fmt.Sprint("kubelet_started_pods_total ", started), fmt.Sprint("kubelet_started_pods_errors_total ", errors),
		fmt.Sprint("kubelet_started_user_namespaced_pods_total ", users), fmt.Sprint("kubelet_started_user_namespaced_pods_errors_total ", usersErrors),
	})
}

func TestStarts(t *testing.T) {
	m, pod := newMetrics(), newPod()
	for _, answer := range []lifecycle.SandboxCreated{
		{SandboxID: "a"},
		{Result: errFailed},                 // also one that the runtime was not asked for
		{Result: errFailed, SandboxID: "b"}, // it is there
		{Result: lifecycle.Result{Failure: &lifecycle.Failure{Class: lifecycle.Cancelled}}},
		{Result: lifecycle.Result{Failure: &lifecycle.Failure{Reason: lifecycle.NetworkNotReady}}}, // not begun
	} {
		m.Carried(pod, lifecycle.CreateSandbox{}, answer, 0)
	}
	checkStarts(t, m, 4, 1, 0, 0)
}

// Whatever fails in the round that creates the sandbox is an error of a pod with a
// user namespace, once; what fails later is not.
func TestUserNamespacedStarts(t *testing.T) {
	no := false
	create := func(name string) lifecycle.Effect { return lifecycle.CreateContainer{Container: name} }
	start := func(name string) lifecycle.Effect { return lifecycle.StartContainer{Container: name} }
	hook := func(name string) lifecycle.Effect { return lifecycle.RunHook{Container: name} }
	type step struct {
		effect lifecycle.Effect
		answer lifecycle.Fact
		wait   string // a reason of the container main
	}
	sandbox := step{effect: lifecycle.CreateSandbox{}, answer: lifecycle.SandboxCreated{SandboxID: "a"}}
	for name, tc := range map[string]struct {
		change      func(*v1.PodSpec)
		steps       []step
		errors, all int // of its user namespace, of its sandbox
	}{
		"sandbox": {steps: []step{{effect: lifecycle.CreateSandbox{}, answer: lifecycle.SandboxCreated{Result: errFailed}}}, errors: 1, all: 1},
		"sandbox's status": {
			steps: []step{{effect: lifecycle.CreateSandbox{}, answer: lifecycle.SandboxCreated{SandboxID: "a", Result: errFailed}}}, errors: 1,
		},
		"create": {steps: []step{sandbox, {effect: create("main"), answer: lifecycle.ContainerCreated{Result: errFailed}}}, errors: 1},
		"start":  {steps: []step{sandbox, {effect: start("main"), answer: lifecycle.ContainerStarted{Result: errFailed}}}, errors: 1},
		"twice": {steps: []step{
			sandbox, {effect: start("main"), answer: lifecycle.ContainerStarted{Result: errFailed}}, {wait: "RunContainerError"},
			{effect: start("main"), answer: lifecycle.ContainerStarted{Result: errFailed}},
		}, errors: 1},
		"restart": {steps: []step{
			sandbox, {effect: create("main"), answer: lifecycle.ContainerCreated{}}, {effect: start("main"), answer: lifecycle.ContainerStarted{}},
			{effect: create("main"), answer: lifecycle.ContainerCreated{Result: errFailed}}, {wait: "CreateContainerError"},
		}},
		"postStart": {
			change: func(s *v1.PodSpec) { s.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}} },
			steps: []step{
				sandbox, {effect: start("main"), answer: lifecycle.ContainerStarted{}}, {effect: hook("main"), answer: lifecycle.HookEnded{Result: errFailed}},
			}, errors: 1,
		},
		"image before the sandbox": {steps: []step{{wait: "ErrImagePull"}, sandbox}, errors: 1},
		"image after the sandbox":  {steps: []step{{wait: "ContainerCreating"}, sandbox, {wait: "ErrImagePull"}, {wait: "ImagePullBackOff"}}, errors: 1},
		"image is there by then":   {steps: []step{{wait: "ErrImagePull"}, {wait: "ContainerCreating"}, sandbox}},
		"after an init container": {
			change: func(s *v1.PodSpec) { s.InitContainers = []v1.Container{{Name: "init"}} },
			steps: []step{
				sandbox, {effect: start("init"), answer: lifecycle.ContainerStarted{}}, {effect: create("main"), answer: lifecycle.ContainerCreated{Result: errFailed}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, pod := newMetrics(), newPod()
			pod.Spec.HostUsers, pod.Spec.InitContainers = &no, nil
			if tc.change != nil {
				tc.change(&pod.Spec)
			}
			var before v1.PodStatus
			for _, s := range tc.steps {
				if s.effect != nil {
					m.Carried(pod, s.effect, s.answer, 0)
					continue
				}
				waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: s.wait}}
				after := v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: waiting}}}
				m.Status(pod, &before, &after)
				before = after
			}
			checkStarts(t, m, 1, tc.all, 1, tc.errors)
			m.Gone(pod)
			assert.True(t, len(m.users) == 0, "a pod that is gone is remembered")
		})
	}
}
