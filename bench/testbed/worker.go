package testbed

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/e2e/machine"
)

// NewWorkerPod is a training pod in small: a set-up that ends at once, a sidecar,
// and a main container whose death by a signal restarts all of them.
func NewWorkerPod(node string) *v1.Pod { return bare.Worker(NewPod(node)) }

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
		if pod == nil || len(pod.Status.ContainerStatuses) == 0 || !machine.IsReady(pod) {
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
