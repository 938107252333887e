package roster

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/lifecycle"
)

// allocated returns the pod with its status and its allocated resources. While a resize
// is pending they differ from the spec's (A-ADM-7). Until a status lists them, they are
// those the pod was accepted with. A pod that no worker has yet is admitted with those of its
// spec, whatever it had before.
func (p *pod) allocated() *v1.Pod {
	allocated := p.newest.DeepCopy()
	if p.accepted == nil && p.resize.granted == nil {
		allocated.Status = v1.PodStatus{}
		return allocated
	}
	if p.resize.granted != nil {
		allocated.Spec = *p.resize.granted.Spec.DeepCopy()
	} else {
		if p.accepted != nil {
			takeRequests(allocated.Spec.InitContainers, p.accepted.Spec.InitContainers)
			takeRequests(allocated.Spec.Containers, p.accepted.Spec.Containers)
		}
		eachAllocated(allocated, &p.status, func(c *v1.Container, has v1.ResourceList) {
			c.Resources.Requests = has.DeepCopy()
		})
		p.takeOwn(allocated)
	}
	allocated.Status = *withoutOverhead(&p.status, allocated.Spec.Overhead)
	return allocated
}

// takeOwn gives the pod as a whole the requests that are allocated to it (A-ADM-8).
func (p *pod) takeOwn(allocated *v1.Pod) {
	if has := withoutOverhead(&p.status, allocated.Spec.Overhead).AllocatedResources; len(has) > 0 && allocated.Spec.Resources != nil {
		for name := range allocated.Spec.Resources.Requests {
			if quantity, listed := has[name]; listed {
				allocated.Spec.Resources.Requests[name] = quantity
			}
		}
	} else if p.accepted != nil {
		allocated.Spec.Resources = p.accepted.Spec.Resources.DeepCopy()
	}
}

// withoutOverhead returns a copy of the status that shows what the pod as a whole has and
// was allocated without its overhead, which counts once (A-ADM-8).
func withoutOverhead(status *v1.PodStatus, overhead v1.ResourceList) *v1.PodStatus {
	status = status.DeepCopy()
	lists := []v1.ResourceList{status.AllocatedResources}
	if status.Resources != nil {
		lists = append(lists, status.Resources.Requests)
	}
	for _, list := range lists {
		for name, quantity := range list {
			quantity.Sub(overhead[name])
			list[name] = quantity
		}
	}
	return status
}

// takeRequests copies the requests of containers with the same name.
func takeRequests(containers, from []v1.Container) {
	for i := range min(len(containers), len(from)) {
		if containers[i].Name == from[i].Name {
			containers[i].Resources.Requests = from[i].Resources.Requests.DeepCopy()
		}
	}
}

// eachAllocated calls tell for each container whose allocated resources the status lists.
func eachAllocated(pod *v1.Pod, status *v1.PodStatus, tell func(c *v1.Container, has v1.ResourceList)) {
	has := map[string]v1.ResourceList{}
	for _, c := range lifecycle.ContainerStatuses(status) {
		if len(c.AllocatedResources) > 0 {
			has[c.Name] = c.AllocatedResources
		}
	}
	for _, c := range lifecycle.Containers(pod) {
		if resources, found := has[c.Name]; found {
			tell(c, resources)
		}
	}
}

// listsRequests reports whether the status lists the pod's requests as allocated.
func listsRequests(pod *v1.Pod, status *v1.PodStatus) bool {
	same := listsPodRequests(pod, status)
	eachAllocated(pod, status, func(c *v1.Container, has v1.ResourceList) {
		same = same && equality.Semantic.DeepEqual(maps.Clone(has), maps.Clone(c.Resources.Requests))
	})
	return same
}

// listsPodRequests reports whether the status lists what the pod requests as a whole.
func listsPodRequests(pod *v1.Pod, status *v1.PodStatus) bool {
	if pod.Spec.Resources == nil || len(status.AllocatedResources) == 0 {
		return true
	}
	has := withoutOverhead(status, pod.Spec.Overhead).AllocatedResources
	for name, requested := range pod.Spec.Resources.Requests {
		if quantity := has[name]; !quantity.Equal(requested) {
			return false
		}
	}
	return true
}

// gaveBack says whether a pod holds less with its new status than before.
func gaveBack(before, now *v1.PodStatus) bool {
	ended := lifecycle.Terminal(now.Phase) && !lifecycle.Terminal(before.Phase)
	resized := lifecycle.Condition(before.Conditions, v1.PodResizeInProgress) != nil && lifecycle.Condition(now.Conditions, v1.PodResizeInProgress) == nil
	return ended || resized || shrunk(before, now)
}

// shrunk says whether the pod as a whole or a container has less of something allocated
// than before.
func shrunk(before, now *v1.PodStatus) bool {
	if less(before.AllocatedResources, now.AllocatedResources) {
		return true
	}
	for _, lists := range [][2][]v1.ContainerStatus{
		{before.InitContainerStatuses, now.InitContainerStatuses}, {before.ContainerStatuses, now.ContainerStatuses},
	} {
		for i := range min(len(lists[0]), len(lists[1])) {
			if less(lists[0][i].AllocatedResources, lists[1][i].AllocatedResources) {
				return true
			}
		}
	}
	return false
}

// less says whether there is less of something than before.
func less(was, is v1.ResourceList) bool {
	for name, quantity := range was {
		if left := is[name]; left.Cmp(quantity) < 0 {
			return true
		}
	}
	return false
}
