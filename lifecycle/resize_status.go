package lifecycle

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// resizeConditions adds the conditions that are True to a list; an absent one means False
// (A-COND-10).
func resizeConditions(s *step, phase v1.PodPhase, list []v1.PodCondition) []v1.PodCondition {
	if Terminal(phase) {
		return list
	}
	for _, c := range []*v1.PodCondition{s.resize.Pending, s.resize.Progress} {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// resizeCondition is a condition that was just checked; its transition time is when its
// reason changed (A-COND-2).
func resizeCondition(s *step, t v1.PodConditionType, old *v1.PodCondition, c v1.PodCondition) *v1.PodCondition {
	c.Type, c.Status = t, v1.ConditionTrue
	c.LastProbeTime, c.LastTransitionTime = seconds(s.wall), seconds(s.wall)
	if old != nil && old.Reason == c.Reason {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return &c
}

// resizeText is the message of an event of a resize (A-EVT-5).
func resizeText(prefix string, pod *v1.Pod, generation int64, problem string) string {
	containers, inits := allocation(pod).Containers, len(pod.Spec.InitContainers)
	text, err := json.Marshal(struct {
		InitContainers []ContainerResources `json:"initContainers,omitempty"`
		Containers     []ContainerResources `json:"containers,omitempty"`
		Generation     int64                `json:"generation"`
		Error          string               `json:"error,omitempty"`
	}{containers[:inits], containers[inits:], generation, problem})
	if err != nil {
		return prefix
	}
	return prefix + ": " + string(text)
}

// The lowest values that a cgroup can have. Below them, what the runtime reports means
// nothing (A-CST-15).
const (
	leastMilliCPULimit   = 10
	leastMilliCPURequest = 2
)

// containerResources is a container's status resources: what is allocated and, while it
// runs, what it really has (A-CST-15).
func containerResources(allocated v1.ResourceRequirements, v *containerView) *v1.ResourceRequirements {
	out := allocated.DeepCopy()
	if !v.runs {
		return out
	}
	has := v.actuated
	if v.reported != nil {
		has = *v.reported
	}
	if out.Limits != nil {
		takeCPU(out.Limits, has.Limits, v.actuated.Limits, leastMilliCPULimit)
		take(out.Limits, has.Limits, v.actuated.Limits, v1.ResourceMemory)
	}
	if out.Requests != nil {
		takeCPU(out.Requests, has.Requests, v.actuated.Requests, leastMilliCPURequest)
		take(out.Requests, v.actuated.Requests, v.actuated.Requests, v1.ResourceMemory)
	}
	return out
}

func takeCPU(into, from, actuated v1.ResourceList, least int64) {
	if into.Cpu().MilliValue() <= least && from.Cpu().MilliValue() <= least {
		from = nil
	}
	take(into, from, actuated, v1.ResourceCPU)
}

// take takes over a quantity that the container has, and removes one that it was not given yet: another agent that goes on with the
// pod would take it for given.
func take(into, from, actuated v1.ResourceList, name v1.ResourceName) {
	quantity, found := from[name]
	_, given := actuated[name]
	switch {
	case found:
		into[name] = quantity.DeepCopy()
	case !given:
		delete(into, name)
	}
}

// betweenAllocations says whether the pod's cgroup has other resources than its spec.
func (m *Machine) betweenAllocations() bool { return len(m.resize.Held) > 1 && !m.resize.room }

// cgroupPod is the pod with the resources that its cgroup has.
func (m *Machine) cgroupPod() *v1.Pod {
	if m.betweenAllocations() {
		return m.resize.Held[0].On(m.pod)
	}
	return m.pod
}

// podResources is the status resources of the pod as a whole: what its cgroup
// is given (A-CST-15).
func podResources(pod *v1.Pod) *v1.ResourceRequirements {
	return &v1.ResourceRequirements{Requests: podRequests(pod), Limits: PodLimits(pod, resourcehelper.PodResourcesOptions{})}
}

func podRequests(pod *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// PodLimits are the limits of a pod's cgroup of CPU and memory: each only if the pod or every
// container declares it, because a sum of some would limit those that declare none, too (A-CRI-9).
func PodLimits(pod *v1.Pod, options resourcehelper.PodResourcesOptions) v1.ResourceList {
	sums, limits := resourcehelper.PodLimits(pod, options), v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if sum, found := sums[name]; found && limitDeclared(&pod.Spec, name) {
			limits[name] = sum
		}
	}
	return limits
}

func limitDeclared(spec *v1.PodSpec, name v1.ResourceName) bool {
	lacks := func(c v1.Container) bool { return isZero(c.Resources.Limits, name) }
	return spec.Resources != nil && !isZero(spec.Resources.Limits, name) ||
		!slices.ContainsFunc(spec.Containers, lacks) && !slices.ContainsFunc(spec.InitContainers, lacks)
}

func isZero(list v1.ResourceList, name v1.ResourceName) bool {
	quantity := list[name]
	return quantity.IsZero()
}
