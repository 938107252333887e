package admit

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// insufficient compares what the pod requests, overhead included, with what the
// others leave of the node's allocatable: pods first, then cpu, memory,
// ephemeral storage, and the rest by name.
func insufficient(candidate *v1.Pod, others Others, node *v1.Node) []Failure {
	allocatable, used := amounts(node.Status.Allocatable), others.Held
	requested := requests(candidate, node)
	requested[v1.ResourcePods] = 1
	var failures []Failure
	for _, name := range ordered(requested) {
		if request := requested[name]; request > 0 && request > allocatable[name]-used[name] {
			failures = append(failures, Failure{Resource: name, Requested: request, Used: used[name], Capacity: allocatable[name]})
		}
	}
	return failures
}

// Held is what a pod that was admitted takes of the node: the greater of what is
// allocated to it and what it still has of before.
func Held(pod *v1.Pod) Amounts {
	list := amounts(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	list[v1.ResourcePods] = 1
	return list
}

// requests is what a pod that is not admitted yet asks for. Devices that the node
// does not know are somebody else's to give (A-ADM-5): of resources of the
// cluster, or of DRA.
func requests(pod *v1.Pod, node *v1.Node) Amounts {
	list := amounts(resourcehelper.PodRequests(withoutClaimed(pod), resourcehelper.PodResourcesOptions{}))
	maps.DeleteFunc(list, func(name v1.ResourceName, _ int64) bool {
		_, known := node.Status.Allocatable[name]
		return !known && IsExtended(name)
	})
	return list
}

// withoutClaimed is the pod without the requests that DRA answers to, if it has any.
func withoutClaimed(pod *v1.Pod) *v1.Pod {
	claimed := pod.Status.ExtendedResourceClaimStatus
	if claimed == nil {
		return pod
	}
	pod = pod.DeepCopy()
	for _, c := range lifecycle.Containers(pod) {
		for _, mapping := range claimed.RequestMappings {
			if mapping.ContainerName == c.Name {
				delete(c.Resources.Requests, v1.ResourceName(mapping.ResourceName))
			}
		}
	}
	return pod
}

func amounts(list v1.ResourceList) Amounts {
	out := make(Amounts, len(list))
	for name, quantity := range list {
		switch {
		case name == v1.ResourceCPU:
			out[name] = quantity.MilliValue()
		case isCounted(name):
			out[name] = quantity.Value()
		}
	}
	return out
}

// counted are the resources that come first, in their order.
var counted = []v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

func ordered(list Amounts) []v1.ResourceName {
	var rest []v1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !slices.Contains(counted, name) {
			rest = append(rest, name)
		}
	}
	return append(slices.Clone(counted), rest...)
}

// isCounted leaves out names that are not resources of a node.
func isCounted(name v1.ResourceName) bool {
	return slices.Contains(counted, name) || IsExtended(name) ||
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix) ||
		strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}

// IsExtended says whether a resource is of devices: a name with a domain that is
// not of Kubernetes.
func IsExtended(name v1.ResourceName) bool {
	text := string(name)
	if !strings.Contains(text, "/") || strings.Contains(text, v1.ResourceDefaultNamespacePrefix) || strings.HasPrefix(text, v1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+text)) == 0
}
