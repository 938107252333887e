package testbed

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// NewWorkerPod is a training pod in small: a set-up that ends at once, a sidecar,
// and a main container whose death by a signal restarts all of them.
func NewWorkerPod(node string) *v1.Pod {
	pod := NewPod(node)
	setup, watcher := newContainer("setup", "true"), newContainer("watcher", "sleep", "infinity")
	main := newContainer("main", "sleep", "infinity")
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

// BareOf is the same pod for bare calls, which know nothing of API defaults.
func BareOf(pod *v1.Pod) *v1.Pod {
	pod.UID = uuid.NewUUID()
	pod.Spec.NodeName = ""
	pod.Spec.SecurityContext = &v1.PodSecurityContext{}
	pod.Spec.DNSPolicy = v1.DNSDefault
	pod.Status.QOSClass = v1.PodQOSBestEffort
	return pod
}

// Restarted wants main to run for the second time, and what runs beside it too.
func Restarted(name string) func(map[string]*v1.Pod) bool {
	return func(pods map[string]*v1.Pod) bool {
		pod := pods[name]
		if pod == nil || len(pod.Status.ContainerStatuses) == 0 || !IsReady(pod) {
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
