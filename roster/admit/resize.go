package admit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Fixed says which resources pods can't have changed while their containers run on the node.
type Fixed struct {
	CPUs   bool // of Guaranteed pods: CPU Manager policy "static"
	Memory bool // of Guaranteed pods: Memory Manager policy "Static"
	Swap   bool // the memory of containers that may swap: their part of the swap follows from it
}

// Resize is a pod whose requested resources differ from its allocated ones.
type Resize struct {
	Requested *v1.Pod // as the API server has it
	Allocated *v1.Pod // with what the node has allocated
	// PendingSince is when the resize was first deferred; zero if it is new.
	PendingSince time.Time
}

// FitsResize answers for a resize (A-ACT-15). A rejection has the reason
// Infeasible, and is never asked for again, or Deferred: ask again when resources
// become free. As for a new pod, others may have to make room for a critical one.
func FitsResize(r Resize, others Others, node *v1.Node, fixed Fixed) Answer {
	if message := infeasible(r, fixed); message != "" {
		return rejected(v1.PodReasonInfeasible, message)
	}
	if node == nil {
		return rejected(v1.PodReasonDeferred, "Kubelet cannot get node info.")
	}
	answer := decideFit(r.Requested, others, node)
	if answer.Refusal != nil {
		answer.Refusal.Reason = v1.PodReasonDeferred
	}
	return answer
}

// infeasible says why a resize can never be granted.
func infeasible(r Resize, fixed Fixed) string {
	if fixed.Swap && changesSwap(r) {
		return "In-place resize of containers with swap is not supported."
	}
	if lifecycle.QOSClass(r.Requested) != v1.PodQOSGuaranteed {
		return ""
	}
	if fixed.CPUs && changes(r, v1.ResourceCPU) {
		return fmt.Sprintf("Resize is infeasible for Guaranteed Pods alongside CPU Manager policy %q", "static")
	}
	if fixed.Memory && changes(r, v1.ResourceMemory) {
		return fmt.Sprintf("Resize is infeasible for Guaranteed Pods alongside Memory Manager policy %q", "Static")
	}
	return ""
}

// changesSwap says whether a container keeps running with another part of the swap.
func changesSwap(r Resize) bool {
	return r.anyContainer(func(requested, allocated *v1.Container) bool {
		return differs(requested, allocated, v1.ResourceMemory) && !restartsForMemory(allocated) &&
			(lifecycle.MaySwap(r.Requested, requested) || lifecycle.MaySwap(r.Allocated, allocated))
	})
}

func restartsForMemory(c *v1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool {
		return p.ResourceName == v1.ResourceMemory && p.RestartPolicy == v1.RestartContainer
	})
}

func changes(r Resize, name v1.ResourceName) bool {
	return r.anyContainer(func(requested, allocated *v1.Container) bool { return differs(requested, allocated, name) })
}

func differs(requested, allocated *v1.Container, name v1.ResourceName) bool {
	request := requested.Resources.Requests[name]
	return !request.Equal(allocated.Resources.Requests[name])
}

// anyContainer says whether something is true of a container as it is requested and as it is allocated.
func (r Resize) anyContainer(is func(requested, allocated *v1.Container) bool) bool {
	among := func(requested, allocated []v1.Container) bool {
		for i := range min(len(requested), len(allocated)) {
			if is(&requested[i], &allocated[i]) {
				return true
			}
		}
		return false
	}
	return among(r.Requested.Spec.InitContainers, r.Allocated.Spec.InitContainers) ||
		among(r.Requested.Spec.Containers, r.Allocated.Spec.Containers)
}

// RetryOrder sorts resizes in the order in which they are asked for again
// (A-ACT-15): those that ask for no more than they have, then by priority, then
// Guaranteed pods, then those that have waited longest; new ones come last.
func RetryOrder(pending []Resize) {
	slices.SortStableFunc(pending, func(a, b Resize) int {
		return cmp.Or(
			falseFirst(a.increases(), b.increases()),
			cmp.Compare(corev1.PodPriority(b.Requested), corev1.PodPriority(a.Requested)),
			falseFirst(!isGuaranteed(a.Requested), !isGuaranteed(b.Requested)),
			falseFirst(a.PendingSince.IsZero(), b.PendingSince.IsZero()),
			a.PendingSince.Compare(b.PendingSince),
		)
	})
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (r Resize) increases() bool {
	options := resourcehelper.PodResourcesOptions{}
	was, is := resourcehelper.PodRequests(r.Allocated, options), resourcehelper.PodRequests(r.Requested, options)
	return is.Cpu().Cmp(*was.Cpu()) > 0 || is.Memory().Cmp(*was.Memory()) > 0
}

func isGuaranteed(pod *v1.Pod) bool { return lifecycle.QOSClass(pod) == v1.PodQOSGuaranteed }
