package roster

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// wasFound says whether the runtime had something of a pod at the start.
func (m *Machine) wasFound(p *pod) bool {
	_, found := m.found[p.uid]
	return found
}

// awaitsMirror reports whether a static pod waits with its adoption for the API,
// which knows its status (B-RST-7).
func (m *Machine) awaitsMirror(p *pod) bool {
	return p.source != API && !m.heard[API] && !m.awaitsAPI.IsZero()
}

// look asks the runtime about a pod that has run on this node but has no checkpoint,
// such as a kubelet's. The pod waits until the runtime answers.
func (m *Machine) look(p *pod) {
	delete(m.found, p.uid)
	p.position, p.until = Looking, never()
	m.do(Look{Pod: p.newest})
}

// looked decides how a pod goes on, given what the runtime has of it. If the runtime has
// something, only an agent of this node can have created it, so the pod was admitted
// already and skips admission (B-RST-2's better). A status with containers is no such
// proof. If the runtime has nothing, because it lost its records or the machine its
// disk, the status says how the pod's life goes on (B-RST-4, B-RST-12, B-RST-13), but
// the pod is admitted first, as upstream does with every pod.
func (m *Machine) looked(p *pod, f Looked) {
	if p.position != Looking {
		return
	}
	p.position, p.accepted, p.refused = Unheard, nil, false
	p.assigned = false       // it asks again if it begins, and keeps what it has
	m.do(Forget{UID: p.uid}) // of the pod as it was long ago
	there := len(f.Has.Sandboxes) > 0 || len(f.Has.Containers) > 0
	p.mirror = nil
	if p.source != API && f.Mirror != nil && !lifecycle.Terminal(f.Mirror.Status.Phase) { // else another agent tries it again (B-STA-8)
		p.mirror = &f.Mirror.Status
	}
	switch {
	case there:
		m.report(p, lifecycle.Words{What: "is adopted", Because: "the runtime has it", Rule: "B-RST-2"})
		m.adopt(p, f.Has)
	case p.source == Runtime, !p.wanted && m.allHeard(): // it has gone by itself
		m.endedBefore(p)
		m.drop(p)
	case lifecycle.Terminal(p.known().Status.Phase):
		m.endedBefore(p)
		if p.left && !p.wanted { // its source wants it anew, if at all (B-WRK-18)
			m.drop(p)
		}
	case p.wanted:
		p.ran = lifecycle.RanBefore(p.known())
		if m.heard[p.source] { // else they come in the order of their creation
			m.begin(p)
		}
	}
	m.roomFreed() // it may hold less than was thought, or nothing
}

// known returns the pod as its source has it, with its newest known status: the one its
// worker published before it panicked, or for a static pod, whose file has no status,
// its mirror pod's (B-RST-7).
func (p *pod) known() *v1.Pod {
	switch {
	case p.status.Phase != "":
		return p.withStatus(&p.status)
	case p.mirror != nil:
		return p.withStatus(p.mirror)
	}
	return p.newest
}

// adopt goes on with a pod from its status and what the runtime has of it.
func (m *Machine) adopt(p *pod, has lifecycle.Observed) {
	known := p.known()
	p.status, p.resize.granted = known.Status, nil
	m.do(Adopt{Source: p.source, Pod: known, Has: has})
	m.lives(p, known)
	m.terminate(p)
}

// endedBefore files a pod that has already ended and has nothing in the runtime. It needs
// no worker; only its files on disk are removed (B-WRK-23).
func (m *Machine) endedBefore(p *pod) {
	p.status = p.known().Status
	m.do(Discard{Pod: p.newest})
	m.over(p)
}
