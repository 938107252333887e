package publish

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	netutils "k8s.io/utils/net"
)

// normalize brings a status into the form in which the API keeps it: times in
// whole seconds (A-STAT-9), addresses in their canonical form.
func normalize(s *v1.PodStatus) {
	seconds(s.StartTime)
	for i := range s.Conditions {
		seconds(&s.Conditions[i].LastProbeTime)
		seconds(&s.Conditions[i].LastTransitionTime)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			stateSeconds(&list[i].State)
			stateSeconds(&list[i].LastTerminationState)
		}
	}
	s.HostIP, s.PodIP = canonical(s.HostIP), canonical(s.PodIP)
	for i := range s.HostIPs {
		s.HostIPs[i].IP = canonical(s.HostIPs[i].IP)
	}
	for i := range s.PodIPs {
		s.PodIPs[i].IP = canonical(s.PodIPs[i].IP)
	}
}

func stateSeconds(s *v1.ContainerState) {
	if s.Running != nil {
		seconds(&s.Running.StartedAt)
	}
	if s.Terminated != nil {
		seconds(&s.Terminated.StartedAt)
		seconds(&s.Terminated.FinishedAt)
	}
}

func seconds(t *metav1.Time) {
	if t != nil {
		*t = t.Rfc3339Copy()
	}
}

// canonical is an address as the API server wants it, e.g. fd00::1 for FD00:0::1.
func canonical(address string) string {
	if ip := netutils.ParseIPSloppy(address); ip != nil {
		return ip.String()
	}
	return address
}
