package lifecycle

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// asAllocated returns another agent's pod with the resources that its containers have
// according to the status. Those in the spec may be only requested, not allocated or
// actuated yet (A-ADM-7).
func asAllocated(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	inProgress := isTrue(pod.Status.Conditions, v1.PodResizeInProgress)
	for i := range len(pod.Spec.InitContainers) + len(pod.Spec.Containers) {
		c := specOf(pod, i)
		status := containerStatusOf(&pod.Status, &container{role: role{spec: c}})
		if status.State.Running == nil || status.Resources == nil {
			continue
		}
		has := v1.ResourceRequirements{Limits: status.Resources.Limits, Requests: status.AllocatedResources}
		if inProgress {
			has.Requests = status.Resources.Requests
		}
		if SameCPUAndMemory(has, c.Resources) {
			continue
		}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			c.Resources = WithResources(c.Resources, has, name)
		}
	}
	ownAsAllocated(pod, inProgress)
	return pod
}

// ownAsAllocated gives the pod as a whole the resources that it has according to the
// status (A-ACT-16). Those are the pod's in the kernel's units, so the spec counts while
// no resize is under way.
func ownAsAllocated(pod *v1.Pod, inProgress bool) {
	own, status := pod.Spec.Resources, pod.Status
	unsettled := inProgress || isTrue(status.Conditions, v1.PodResizePending) || status.ObservedGeneration != pod.Generation
	if own == nil || status.Resources == nil || !unsettled {
		return
	}
	requests := status.AllocatedResources
	if inProgress {
		requests = status.Resources.Requests
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		takeOwn(own.Limits, status.Resources.Limits, pod.Spec.Overhead, name)
		takeOwn(own.Requests, requests, pod.Spec.Overhead, name)
	}
}

// takeOwn replaces a quantity that the pod as a whole declares by what it has of it
// without the overhead.
func takeOwn(declared, has, overhead v1.ResourceList, name v1.ResourceName) {
	if _, found := declared[name]; !found {
		return
	}
	quantity, found := has[name]
	if !found {
		delete(declared, name)
		return
	}
	quantity = quantity.DeepCopy()
	quantity.Sub(overhead[name])
	declared[name] = quantity
}

// adoptResize requests again what the spec asks for and the pod does not have yet
// (A-ACT-15).
func (m *Machine) adoptResize(wanted *v1.Pod) {
	asked := allocation(wanted)
	if equality.Semantic.DeepEqual(asked, allocation(m.pod)) {
		return
	}
	m.resize.Desired, m.resize.Before = &asked, wanted.Status.ObservedGeneration
	if c := condition(wanted.Status.Conditions, v1.PodResizePending); c != nil {
		m.resize.Pending = c.DeepCopy()
	}
	m.generation = specIsAnother
}
