package node

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/agent/admission"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/admit"
)

// held are the pods that may hold something of the node, with the resources that
// they were allocated: a pod gives its own back when nothing of it can run.
func (p *Pods) held(but *pod) []*v1.Pod {
	return p.holders(func(e *pod) bool { return e != but })
}

// hasRoomSoon says whether the node has room for a pod but for others that are gone
// from the API and have not ended here yet: the scheduler counts them no longer, so
// that it may have put the pod in their place.
func (p *Pods) hasRoomSoon(e *pod, node *v1.Node) bool {
	wanted := p.holders(func(other *pod) bool { return other != e && other.wanted })
	answer := admit.Decide(e.newest, wanted, node, p.Host)
	return answer.Rejection == nil
}

func (p *Pods) holders(counts func(*pod) bool) []*v1.Pod {
	var list []*v1.Pod
	for _, e := range p.pods {
		if counts(e) && e.begun && !e.over && !e.rejected && !terminal(e.status.Phase) {
			list = append(list, e.allocated())
		}
	}
	return list
}

// allocated is the pod with what it has been allocated, which is behind what is
// asked for while a resize is pending (A-ADM-7), and its status, which tells what
// it still has of before.
func (e *pod) allocated() *v1.Pod {
	pod := e.newest.DeepCopy()
	if e.granted != nil {
		pod.Spec = *e.granted.Spec.DeepCopy()
	} else {
		eachAllocated(pod, &e.status, func(c *v1.Container, has v1.ResourceList) {
			c.Resources.Requests = has.DeepCopy()
		})
	}
	pod.Status = *e.status.DeepCopy()
	return pod
}

// eachAllocated tells of each container of which a status says what it was allocated.
func eachAllocated(pod *v1.Pod, status *v1.PodStatus, tell func(c *v1.Container, has v1.ResourceList)) {
	has := map[string]v1.ResourceList{}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if len(list[i].AllocatedResources) > 0 {
				has[list[i].Name] = list[i].AllocatedResources
			}
		}
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if resources, told := has[list[i].Name]; told {
				tell(&list[i], resources)
			}
		}
	}
}

// preempt ends the pods that have to make room for another one, each with its own
// grace and all at once (B-PRE-2). It says whether to wait for them: one that has not
// ended in its time is not waited for any longer, as in Kubernetes.
func (p *Pods) preempt(e *pod, victims []*v1.Pod) (wait bool) {
	var longest time.Duration
	for _, victim := range victims {
		longest = max(longest, p.evict(victim))
	}
	if longest == 0 {
		p.Log.Warn("a critical pod begins although the pods that make room for it have not ended", "pod", e.name)
		return false
	}
	p.waits(e, "the end of pods that are preempted")
	if now := time.Now(); !e.retryAt.After(now) {
		e.retryAt = now.Add(longest)
		p.afterwards(longest, p.beginAll)
	}
	return true
}

// evict ends a pod that makes room for another one, and says how much longer its end
// is waited for.
func (p *Pods) evict(victim *v1.Pod) time.Duration {
	e := p.pods[victim.UID]
	if e == nil || e.life == nil {
		return lookRetry // it is between two lives
	}
	if e.life.evicted.IsZero() {
		e.life.evicted = time.Now()
		e.life.worker.Post(lifecycle.EvictionRequested{
			Reason: admit.PreemptedReason, Message: admit.PreemptedMessage, Disruption: admit.PreemptedCondition,
		})
	}
	return max(0, time.Until(e.life.evicted.Add(lifecycle.KillPatience(victim))))
}

// room says whether the node has room for a pod that runs here to have other
// resources (A-ACT-15).
func (p *Pods) room(resized *v1.Pod) *admission.Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.pods[resized.UID]
	if e == nil {
		return nil
	}
	e.granted, e.refused = nil, nil
	answer := p.fits(e, resized)
	if len(answer.Victims) > 0 {
		e.refused = resized
		for _, victim := range answer.Victims {
			p.evict(victim)
		}
		return &admission.Refusal{Reason: v1.PodReasonDeferred, Message: "others have to make room first"}
	}
	if r := answer.Rejection; r != nil {
		if r.Reason == v1.PodReasonDeferred {
			e.refused = resized
		}
		return &admission.Refusal{Reason: r.Reason, Message: r.Message}
	}
	e.granted = resized
	return nil
}

func (p *Pods) fits(e *pod, requested *v1.Pod) admit.Answer {
	return admit.FitsResize(admit.Resize{Requested: requested, Allocated: e.allocated()}, p.held(e), p.Node(), admit.Exclusive{})
}

// roomFreed goes on with pods that wait for what others have given back: resizes
// that were deferred, in their order (A-ACT-15), then pods that have not begun.
// Called with mu held.
func (p *Pods) roomFreed() {
	for _, r := range p.deferred() {
		e := p.pods[r.Requested.UID]
		answer := p.fits(e, r.Requested)
		if answer.Rejection != nil {
			continue
		}
		if len(answer.Victims) == 0 {
			e.granted = r.Requested // until it has asked, nobody else gets it
		}
		e.life.worker.Post(lifecycle.RoomFreed{})
	}
	p.beginAll()
}

// deferred are the resizes that wait for room, in the order in which they are asked
// for again.
func (p *Pods) deferred() []admit.Resize {
	var list []admit.Resize
	for _, e := range p.pods {
		if e.life == nil || e.refused == nil || e.granted != nil {
			continue
		}
		r := admit.Resize{Requested: e.refused, Allocated: e.allocated()}
		if pending := conditionOf(&e.status, v1.PodResizePending); pending != nil {
			r.PendingSince = pending.LastTransitionTime.Time
		}
		list = append(list, r)
	}
	admit.RetryOrder(list)
	return list
}

func conditionOf(status *v1.PodStatus, kind v1.PodConditionType) *v1.PodCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// published files a new status; it reports whether the pod holds less than before.
func (e *pod) published(status v1.PodStatus) (freed bool) {
	ended := terminal(status.Phase) && !terminal(e.status.Phase)
	resized := conditionOf(&e.status, v1.PodResizeInProgress) != nil && conditionOf(&status, v1.PodResizeInProgress) == nil
	less := shrunk(&e.status, &status)
	e.status = status
	switch {
	case tells(e.newest, &status): // nothing is asked for any more
		e.refused, e.granted = nil, nil
	case e.granted != nil && tells(e.granted, &status):
		e.granted = nil
	}
	return ended || resized || less
}

// tells says that a status has the resources of the pod as allocated.
func tells(pod *v1.Pod, status *v1.PodStatus) bool {
	same := true
	eachAllocated(pod, status, func(c *v1.Container, has v1.ResourceList) {
		same = same && equality.Semantic.DeepEqual(maps.Clone(has), maps.Clone(c.Resources.Requests))
	})
	return same
}

// shrunk says whether a container has less of something allocated than before.
func shrunk(before, now *v1.PodStatus) bool {
	for _, lists := range [][2][]v1.ContainerStatus{
		{before.InitContainerStatuses, now.InitContainerStatuses}, {before.ContainerStatuses, now.ContainerStatuses},
	} {
		for i := range min(len(lists[0]), len(lists[1])) {
			was, is := lists[0][i].AllocatedResources, lists[1][i].AllocatedResources
			for name, quantity := range was {
				if left := is[name]; left.Cmp(quantity) < 0 {
					return true
				}
			}
		}
	}
	return false
}
