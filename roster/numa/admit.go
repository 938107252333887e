package numa

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// Provider has something to give to containers that is on NUMA nodes. A refused pod leaves
// it as it is, in between: work on a copy.
type Provider interface {
	// Hints says on which nodes what a container asks for could be; nil: on any.
	Hints(pod *v1.Pod, container *v1.Container) Hints
	// PodHints is Hints for all containers of a pod together.
	PodHints(pod *v1.Pod) Hints
	// Allocate gives a container what it asks for, if it can on the nodes of the hint. An
	// error refuses the pod; Refusal says with which reason.
	Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error
}

// Refusal is why a pod is not admitted, with the reason for its status.
type Refusal struct {
	Reason, Message string
}

func (r *Refusal) Error() string { return r.Message }

// RefusalOf is the refusal for an error of Admit; an error that names no reason was not
// expected (A-NUMA-2).
func RefusalOf(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Reason: "UnexpectedAdmissionError", Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", err)}
}

// Unaligned is the reason for which a pod is refused that no hint is good enough for (A-NUMA-9).
const Unaligned = "TopologyAffinityError"

func unaligned() *Refusal {
	return &Refusal{Reason: Unaligned, Message: "Resources cannot be allocated with Topology locality"}
}

// Admit gives the containers of a pod all they ask for, in their order and each of the
// providers in its own, or tells why not.
func (p Policy) Admit(pod *v1.Pod, providers []Provider) error {
	var hint Hint
	if p.name != "" && p.scope == PodScope {
		var admitted bool
		if hint, admitted = p.Merge(each(providers, func(from Provider) Hints { return from.PodHints(pod) })); !admitted {
			return unaligned()
		}
	}
	for _, container := range lifecycle.Containers(pod) {
		if p.name != "" && p.scope == ContainerScope {
			var admitted bool
			if hint, admitted = p.Merge(each(providers, func(from Provider) Hints { return from.Hints(pod, container) })); !admitted {
				return unaligned()
			}
		}
		for _, from := range providers {
			if err := from.Allocate(pod, container, hint); err != nil {
				return err
			}
		}
	}
	return nil
}

func each(providers []Provider, ask func(Provider) Hints) []Hints {
	hints := make([]Hints, 0, len(providers))
	for _, p := range providers {
		hints = append(hints, ask(p))
	}
	return hints
}

// containerCPUs is how many CPUs a container gets for itself: as many as it requests, if that
// is a whole number and its pod is Guaranteed (A-NUMA-3); 0 if it shares CPUs. Pods with
// resources of their own, besides those of containers, share them.
func containerCPUs(pod *v1.Pod, container *v1.Container) int {
	if lifecycle.QOSClass(pod) != v1.PodQOSGuaranteed || resourcehelper.IsPodLevelResourcesSet(pod) {
		return 0
	}
	request := container.Resources.Requests[v1.ResourceCPU]
	if request.Value()*1000 != request.MilliValue() {
		return 0
	}
	return int(request.Value())
}

// podCPUs is how many CPUs its containers have at the same time at most.
func podCPUs(pod *v1.Pod) int {
	inits, sidecars, regular := 0, 0, 0
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if lifecycle.IsSidecar(c) {
			sidecars += containerCPUs(pod, c)
		} else {
			inits = max(inits, sidecars+containerCPUs(pod, c))
		}
	}
	for i := range pod.Spec.Containers {
		regular += containerCPUs(pod, &pod.Spec.Containers[i])
	}
	return max(inits, sidecars+regular)
}

// DeviceIDs are devices of one resource.
type DeviceIDs = sets.Set[string]

// Device is one device as its plugin tells of it.
type Device struct {
	Healthy bool
	Nodes   []int64 // the NUMA nodes that it is near to; empty: it is near to none
}

// DeviceResource is what a plugin has told of its resource.
type DeviceResource map[string]Device // by ID

// Healthy are the devices that may be given away.
func (r DeviceResource) Healthy() DeviceIDs {
	ids := DeviceIDs{}
	for id, device := range r {
		if device.Healthy {
			ids.Insert(id)
		}
	}
	return ids
}

// Unhealthy returns the same devices, all of them not to be used.
func (r DeviceResource) Unhealthy() DeviceResource {
	out := make(DeviceResource, len(r))
	for id, device := range r {
		device.Healthy = false
		out[id] = device
	}
	return out
}

// aligned says whether topology counts for a resource: whether a device of it has some.
func (r DeviceResource) aligned() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r)), func(d Device) bool { return len(d.Nodes) > 0 })
}
