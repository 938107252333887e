package numa

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// amounts are in bytes, by resource.
type amounts map[v1.ResourceName]uint64

var errQuantity = errors.New("[memorymanager] failed to represent quantity as int64")

// keeps says whether memory is kept for a pod's containers: for those of a Guaranteed pod
// without resources of its own (A-NUMA-12).
func keeps(pod *v1.Pod) bool {
	return lifecycle.QOSClass(pod) == v1.PodQOSGuaranteed && !resourcehelper.IsPodLevelResourcesSet(pod)
}

// AsksForMemory says whether memory is kept for a pod's containers.
func AsksForMemory(pod *v1.Pod) bool { return keeps(pod) }

// containerMemory is the memory and the huge pages that a container requests.
func containerMemory(container *v1.Container) (amounts, error) {
	out := amounts{}
	for name, quantity := range container.Resources.Requests {
		if name != v1.ResourceMemory && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			continue
		}
		size, ok := quantity.AsInt64()
		if !ok {
			return nil, errQuantity
		}
		out[name] = uint64(size)
	}
	return out, nil
}

// podMemory is what its containers have at the same time at most, of what its regular
// containers request.
func podMemory(pod *v1.Pod) (amounts, error) {
	inits, sidecars, out := amounts{}, amounts{}, amounts{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		wants, err := containerMemory(c)
		if err != nil {
			return nil, err
		}
		for name, size := range wants {
			if lifecycle.IsSidecar(c) {
				sidecars[name] += size
			} else {
				inits[name] = max(inits[name], sidecars[name]+size)
			}
		}
	}
	for i := range pod.Spec.Containers {
		wants, err := containerMemory(&pod.Spec.Containers[i])
		if err != nil {
			return nil, err
		}
		for name, size := range wants {
			out[name] += size
		}
	}
	for name := range out {
		out[name] = max(inits[name], out[name]+sidecars[name])
	}
	return out, nil
}
