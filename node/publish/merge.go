package publish

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// merge is what the API's status has to become: the node's, without touching
// what others own (A-STAT-5) and without taking back what is final (A-STAT-7).
// Neither argument is changed; the result shares memory with both.
func merge(pod *v1.Pod, ours *v1.PodStatus, kept transitions, now time.Time) *v1.PodStatus {
	have, m := &pod.Status, *ours
	m.ResourceClaimStatuses = have.ResourceClaimStatuses
	m.ExtendedResourceClaimStatus = have.ExtendedResourceClaimStatus
	m.NodeAllocatableResourceClaimStatuses = have.NodeAllocatableResourceClaimStatuses
	m.ObservedGeneration = max(m.ObservedGeneration, have.ObservedGeneration)
	if have.StartTime != nil { // A-CST-18
		m.StartTime = have.StartTime
	}
	if have.QOSClass != "" {
		m.QOSClass = have.QOSClass
	}
	if lifecycle.Terminal(have.Phase) { // B-FIN-2
		m.Phase, m.Reason, m.Message = have.Phase, have.Reason, have.Message
	}
	if lifecycle.Terminal(m.Phase) && len(m.PodIPs) == 0 { // B-TRM-5
		m.PodIP, m.PodIPs = have.PodIP, have.PodIPs
	}
	m.InitContainerStatuses = mergeContainers(pod, have.InitContainerStatuses, m.InitContainerStatuses)
	m.ContainerStatuses = mergeContainers(pod, have.ContainerStatuses, m.ContainerStatuses)
	m.EphemeralContainerStatuses = mergeContainers(pod, have.EphemeralContainerStatuses, m.EphemeralContainerStatuses)
	m.Conditions = mergeConditions(have, &m, kept, now)
	return &m
}

// mergeContainers keeps restart counts from going back, and the end of a container
// for which there is nothing after it: the API server would refuse the whole
// status (A-STAT-6, B-FIN-9).
func mergeContainers(pod *v1.Pod, have, ours []v1.ContainerStatus) []v1.ContainerStatus {
	merged := make([]v1.ContainerStatus, 0, len(ours))
	for _, c := range ours {
		if old := containerStatus(have, c.Name); old != nil {
			if ended := old.State.Terminated; ended != nil && c.State.Terminated == nil && !lifecycle.APIAllowsRestart(pod, c.Name, ended.ExitCode) {
				c = *old
			}
			c.RestartCount = max(c.RestartCount, old.RestartCount)
		}
		merged = append(merged, c)
	}
	return merged
}

func containerStatus(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
