package pressure

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Reason is that of an evicted pod's status and of its event.
const Reason = "Evicted"

// Eviction is what a pod is told that has to go (B-EVI-8, B-EVI-9).
type Eviction struct {
	Message      string
	Blame        lifecycle.Blame // of the event
	GraceSeconds int64
}

// immediateGrace is the grace of pods that have to go at once, in seconds (B-EVI-8).
const immediateGrace = 1

// Evict says how a pod is evicted for the first of the thresholds that act. used is nil
// if nothing is known of what the pod uses.
func (c *Config) Evict(pod *v1.Pod, used *statsapi.PodStats, acts []Threshold, seen Observations) Eviction {
	e := Eviction{GraceSeconds: immediateGrace}
	if !acts[0].hard() {
		e.GraceSeconds = c.MaxPodGrace
		if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
			e.GraceSeconds = min(e.GraceSeconds, *grace)
		}
	}
	starved := acts[0].Signal.Resource()
	e.Message = fmt.Sprintf("The node was low on resource: %v. ", starved)
	for i := range acts { // the first with this resource is that which acts
		if o, known := seen[acts[i].Signal]; known && acts[i].Signal.Resource() == starved {
			e.Message += fmt.Sprintf("Threshold quantity: %v, available: %v. ", acts[i].Value.of(o.Capacity), acts[i].Signal.quantity(o.Available))
			break
		}
	}
	if used == nil {
		return e
	}
	e.Blame.Starved = string(starved)
	e.blamePod(pod, used, starved)
	e.blameContainers(pod, used, starved)
	return e
}

func (e *Eviction) blamePod(pod *v1.Pod, used *statsapi.PodStats, starved v1.ResourceName) {
	if starved != v1.ResourceMemory || !helpers.IsPodLevelResourcesSet(pod) || used.Memory == nil {
		return
	}
	requested, set := pod.Spec.Resources.Requests[starved]
	if !set {
		return
	}
	usage := resource.NewQuantity(workingSet(used.Memory), resource.BinarySI)
	e.Message += fmt.Sprintf("Pod %s was using %s, request is %s, has larger consumption of %v. ", pod.Name, usage, requested.String(), starved)
	e.Blame.Pod, e.Blame.PodUsage = pod.Name, usage.String()
}

func (e *Eviction) blameContainers(pod *v1.Pod, used *statsapi.PodStats, starved v1.ResourceName) {
	var names, usages []string
	for i := range used.Containers {
		c := &used.Containers[i]
		spec := containerOf(pod, c.Name)
		usage := usageOf(c, starved)
		if spec == nil || usage == nil {
			continue
		}
		requested := spec.Resources.Requests[starved]
		if usage.Cmp(requested) <= 0 {
			continue
		}
		e.Message += fmt.Sprintf("Container %s was using %s, request is %s, has larger consumption of %v. ", c.Name, usage, requested.String(), starved)
		names, usages = append(names, c.Name), append(usages, usage.String())
	}
	e.Blame.Containers = strings.Join(names, ",")
	e.Blame.ContainersUsage = strings.Join(usages, ",")
}

// containerOf is nil for ephemeral containers, which can't request anything and would be
// blamed always.
func containerOf(pod *v1.Pod, name string) *v1.Container {
	for _, c := range lifecycle.Containers(pod) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// usageOf is nil if it isn't known, or if nobody requests the resource.
func usageOf(c *statsapi.ContainerStats, starved v1.ResourceName) *resource.Quantity {
	switch {
	case starved == v1.ResourceMemory && c.Memory != nil && c.Memory.WorkingSetBytes != nil:
		return resource.NewQuantity(int64(*c.Memory.WorkingSetBytes), resource.BinarySI)
	case starved == v1.ResourceEphemeralStorage && c.Rootfs != nil && c.Rootfs.UsedBytes != nil && c.Logs != nil && c.Logs.UsedBytes != nil:
		return resource.NewQuantity(int64(*c.Rootfs.UsedBytes+*c.Logs.UsedBytes), resource.BinarySI)
	}
	return nil
}
