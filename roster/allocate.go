package roster

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// asksAllocation says whether a pod asks for something that is given by name. One that only the
// runtime has may have asked for it.
func (m *Machine) asksAllocation(p *pod) bool {
	return m.options.Allocates != nil && (p.source == Runtime || m.options.Allocates(p.newest))
}

// allocationAnswered admits a pod that has what it asks for by name (A-DEV-5). One for which
// others have to give something back waits, if these are pods that the scheduler no longer
// counts.
func (m *Machine) allocationAnswered(p *pod, f Allocated) {
	if p.position != Waiting || p.reason != ForDevices {
		return
	}
	p.position, p.assigned, p.given = Unheard, f.Refusal == nil, f.Given
	switch {
	case !p.wanted:
		m.leave(p)
	case p.ranBefore(): // as the API server tells meanwhile
		m.look(p)
	case p.newest.DeletionTimestamp != nil:
		m.start(p)
	case f.Refusal != nil && m.freeing(p, f.Lacks) > 0:
		p.lacks, p.freeing = f.Lacks, m.freeing(p, f.Lacks)
		m.waits(p, ForRoom, never())
	case f.Refusal != nil:
		m.refuse(p, *f.Refusal)
	default:
		m.admit(p, m.node)
	}
	if !p.holds() { // its place was kept
		m.roomFreed()
	}
}

// allocate has a pod given what it asks for by name, unless it has that already, or waits for
// pods that have not ended yet. It says whether the pod has to wait.
func (m *Machine) allocate(p *pod) (waits bool) {
	switch {
	case p.assigned || !m.asksAllocation(p):
		return false
	case p.lacks != "" && m.freeing(p, p.lacks) >= p.freeing:
		m.waits(p, ForRoom, never())
	default:
		p.lacks, p.freeing, p.gaveBack = "", 0, false
		m.waits(p, ForDevices, never())
		m.do(Allocate{Pod: p.newest})
	}
	return true
}

// freeing counts the pods that no source wants and that have some of a resource. The scheduler
// no longer counts those and may have put this one in their place.
func (m *Machine) freeing(p *pod, name v1.ResourceName) (n int) {
	for _, other := range m.pods {
		if other != p && !other.wanted && other.holds() && limits(other.newest, name) {
			n++
		}
	}
	return n
}

func limits(pod *v1.Pod, name v1.ResourceName) bool {
	return slices.ContainsFunc(lifecycle.Containers(pod), func(c *v1.Container) bool {
		_, has := c.Resources.Limits[name]
		return has
	})
}

// without is the Node as a pod is held against it: without the resources of which it was given
// something by name already. What is left of them is not asked about again.
func (p *pod) without(node *v1.Node) *v1.Node {
	if node == nil || len(p.given) == 0 {
		return node
	}
	other := *node
	other.Status.Allocatable = node.Status.Allocatable.DeepCopy()
	for _, name := range p.given {
		delete(other.Status.Allocatable, name)
	}
	return &other
}

// releaseDone has pods give back what they were given by name, as soon as nothing of them can
// use it any more (A-DEV-9).
func (m *Machine) releaseDone() {
	for _, p := range podsOf(m, m.books.changed) {
		if !p.gaveBack && !p.mayNeedAllocation(m.wasFound(p)) {
			m.giveBack(p)
		}
	}
}

// mayNeedAllocation says whether a pod, or its life that is about to begin, has a use for what it was
// given by name; found: the runtime had it at the start.
func (p *pod) mayNeedAllocation(found bool) bool {
	switch p.position {
	case Unheard:
		return true
	case Waiting:
		return p.reason != ForName || found
	default:
		return p.holds()
	}
}

// giveBack has a pod give back what it was given by name. If it was not by this agent, it may
// have been by the one before.
func (m *Machine) giveBack(p *pod) {
	if p.gaveBack || !m.asksAllocation(p) {
		return
	}
	p.gaveBack, p.assigned, p.given = true, false, nil
	m.do(Release{UID: p.uid})
}
