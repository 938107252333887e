package lifecycle

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Allocation is the resources of a pod: its own and those of its containers.
type Allocation struct {
	// Pod is spec.resources; nil if the pod has none of its own.
	Pod *v1.ResourceRequirements `json:"pod,omitempty"`
	// Containers are those of the init containers, then of the regular ones. Ephemeral
	// containers have none.
	Containers []ContainerResources `json:"containers"`
}

// ContainerResources are the resources of one container.
type ContainerResources struct {
	Name      string                  `json:"name"`
	Resources v1.ResourceRequirements `json:"resources"`
}

// allocation lists the resources that the pod's spec has, and shares them with it.
func allocation(pod *v1.Pod) Allocation {
	a := Allocation{Pod: pod.Spec.Resources, Containers: make([]ContainerResources, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))}
	for i := range a.Containers {
		c := specOf(pod, i)
		a.Containers[i] = ContainerResources{Name: c.Name, Resources: c.Resources}
	}
	return a
}

// On returns a copy of the pod with the resources of the allocation.
func (a Allocation) On(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Resources = a.Pod.DeepCopy()
	for i := range a.Containers {
		specOf(pod, i).Resources = *a.Containers[i].Resources.DeepCopy()
	}
	return pod
}

// fits says whether the allocation is of a pod with as many containers.
func (a Allocation) fits(pod *v1.Pod) bool {
	return len(a.Containers) == len(pod.Spec.InitContainers)+len(pod.Spec.Containers)
}

func (a Allocation) clone() Allocation {
	a.Pod, a.Containers = a.Pod.DeepCopy(), slices.Clone(a.Containers)
	for i := range a.Containers {
		a.Containers[i].Resources = *a.Containers[i].Resources.DeepCopy()
	}
	return a
}

// UnmarshalJSON also reads the allocations of checkpoints before version 3, which list
// the containers only (Checkpoint.withPodResources adds the rest).
func (a *Allocation) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, &a.Containers)
	}
	type plain Allocation
	return json.Unmarshal(text, (*plain)(a))
}

// givenTo is what the container of that index gets: a limit that it does not declare is the
// pod's (A-CRI-8).
func (a Allocation) givenTo(i int) v1.ResourceRequirements {
	return WithLimitsOf(a.Containers[i].Resources, a.Pod)
}

// allocatedTo is what a container gets of what is allocated to the pod.
func (m *Machine) allocatedTo(c *container) v1.ResourceRequirements {
	return WithLimitsOf(c.spec.Resources, m.pod.Spec.Resources)
}
