package roster

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// holders are the other pods that may hold resources of the node, with what they were
// allocated. A pod gives its resources back when nothing of it can run any more.
func (m *Machine) holders(but *pod) admit.Others {
	count(m)
	held := maps.Clone(m.books.held)
	held.Sub(m.books.entries[but.uid].held)
	return admit.Others{Held: held, Pods: func() []*v1.Pod { return m.allocated(func(p *pod) bool { return p != but }) }}
}

// hasRoomSoon reports whether the pod fits once the pods that no source wants have ended.
// The scheduler no longer counts those and may have put this pod in their place. If only labels
// refuse it then, the Node is read again then (A-ADM-4).
func (m *Machine) hasRoomSoon(p *pod, node *v1.Node) bool {
	stay := m.allocated(func(other *pod) bool { return other != p && other.wanted })
	answer := admit.Decide(p.newest, admit.Beside(p.newest, stay), p.without(node), m.options.Host)
	return answer.Refusal == nil || p.rereads(answer, &m.options)
}

// rereads says whether the Node is to be read again because only its labels refuse the pod.
func (p *pod) rereads(answer admit.Answer, options *Options) bool {
	return answer.Relabel && options.API && !p.reread
}

func (m *Machine) allocated(counts func(*pod) bool) []*v1.Pod {
	var list []*v1.Pod
	for _, p := range m.inOrder(func(p *pod) bool { return p.holds() && counts(p) }) {
		list = append(list, p.allocated())
	}
	return list
}

// preempt ends the pods that must make room for a critical one, all at once and each with
// its own grace period (B-PRE-2). After that time it stops waiting, as Kubernetes does.
func (m *Machine) preempt(p *pod, answer admit.Answer) {
	until := m.now
	for _, victim := range answer.Victims {
		if end := m.evict(m.pods[victim.UID], answer.Missing); end.After(until) {
			until = end
		}
	}
	if !until.After(m.now) {
		m.warn(p, lifecycle.Words{What: "begins", Because: "the pods that make room for it have not ended in their time", Rule: "B-WRK-13"})
		m.start(p)
		return
	}
	m.waits(p, ForVictims, until)
}

// evict ends a pod to make room for another, and returns how long to wait for its end.
// A pod between two lives is ended later.
func (m *Machine) evict(p *pod, missing v1.ResourceName) (until time.Time) {
	if !p.alive() {
		return m.now.Add(time.Second)
	}
	if p.evicted.IsZero() {
		p.evicted = m.now
		m.do(Preempted{Missing: missing})
		m.do(Tell{UID: p.uid, Fact: lifecycle.EvictionRequested{
			Reason: admit.PreemptedReason, Message: admit.PreemptedMessage, Disruption: admit.PreemptedCondition,
		}})
	}
	return p.evicted.Add(lifecycle.KillPatience(p.newest))
}

// room reports whether the node has room to resize a living pod (A-ACT-15).
func (m *Machine) room(resized *v1.Pod) *admit.Refusal {
	p := m.pods[resized.UID]
	if p == nil {
		return nil
	}
	var refusal *admit.Refusal
	with(m, p, func(p *pod) { refusal = roomOf(m, p, resized) })
	return refusal
}

func roomOf(m *Machine, p *pod, resized *v1.Pod) *admit.Refusal {
	p.resize = resize{}
	answer := m.fits(p, resized)
	if len(answer.Victims) > 0 {
		p.resize.deferred = resized
		for _, victim := range answer.Victims {
			m.evict(m.pods[victim.UID], answer.Missing)
		}
		return &admit.Refusal{Reason: v1.PodReasonDeferred, Message: "others have to make room first"}
	}
	switch r := answer.Refusal; {
	case r == nil:
		p.resize.granted = resized
	case r.Reason == v1.PodReasonDeferred:
		p.resize.deferred = resized
	}
	return answer.Refusal
}

func (m *Machine) fits(p *pod, requested *v1.Pod) admit.Answer {
	return admit.FitsResize(admit.Resize{Requested: requested, Allocated: p.allocated()}, m.holders(p), p.without(m.node), m.options.Fixed)
}

// roomFreed retries what waits for room: first deferred resizes in their order (A-ACT-15),
// then pods that have not begun.
func (m *Machine) roomFreed() {
	m.releaseDone()
	for _, r := range m.deferred() {
		p := m.pods[r.Requested.UID]
		answer := m.fits(p, r.Requested)
		if answer.Refusal != nil {
			continue
		}
		if len(answer.Victims) == 0 {
			with(m, p, func(p *pod) { p.resize.granted = r.Requested }) // until it has asked, nobody else gets it
		}
		m.do(Tell{UID: p.uid, Fact: lifecycle.RoomFreed{}})
	}
	m.beginAll()
}

// deferred lists the resizes that wait for room, in the order of their retry.
func (m *Machine) deferred() []admit.Resize {
	var list []admit.Resize
	settle(m)
	for _, p := range podsOf(m, slices.Collect(maps.Keys(m.books.asking))) {
		if !p.alive() || p.resize.granted != nil {
			continue
		}
		r := admit.Resize{Requested: p.resize.deferred, Allocated: p.allocated()}
		if pending := lifecycle.Condition(p.status.Conditions, v1.PodResizePending); pending != nil {
			r.PendingSince = pending.LastTransitionTime.Time
		}
		list = append(list, r)
	}
	admit.RetryOrder(list)
	return list
}

// spaceNeeded has every pod with a worker give up what it can spare of its dead containers
// (B-GC-1).
func (m *Machine) spaceNeeded() {
	for _, p := range m.inOrder((*pod).alive) {
		m.do(Tell{UID: p.uid, Fact: lifecycle.SpaceNeeded{}})
	}
}

// published records a new status. If the pod now holds less, others may use the room.
func (m *Machine) published(p *pod, status v1.PodStatus) {
	before := p.status
	p.status = status
	p.resize.overtaken(&status)
	if lifecycle.Terminal(status.Phase) {
		m.victimStopped(p)
	}
	if gaveBack(&before, &status) {
		m.roomFreed()
	}
}

// overtaken forgets what is no longer asked for: the status is of a newer generation, or
// tells of what was granted. What its source has of a pod says nothing about that: a source
// that is not heard yet has not told of the request, and a file never does. A status of a newer
// generation that waits for room as well still asks for it: another field was changed.
func (r *resize) overtaken(status *v1.PodStatus) {
	pending := lifecycle.Condition(status.Conditions, v1.PodResizePending)
	waits := pending != nil && pending.Reason == v1.PodReasonDeferred
	if r.deferred != nil && status.ObservedGeneration > r.deferred.Generation && !waits {
		r.deferred = nil
	}
	if r.granted != nil && (status.ObservedGeneration > r.granted.Generation && !waits || listsRequests(r.granted, status)) {
		r.granted = nil
	}
}
