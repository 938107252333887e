package roster

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// quarantine is how long a pod is left alone after its worker panicked, before it is
// resumed from its checkpoint.
const quarantine = 10 * time.Second

// panicked leaves a pod alone for a while after its worker panicked; other pods go on.
func (m *Machine) panicked(p *pod, why error) {
	if !p.alive() {
		return
	}
	p.position, p.until = Paused, m.now.Add(quarantine)
	m.victimGone(p) // it can't be waited for
	m.warn(p, lifecycle.Words{What: "is left alone", Outcome: "it goes on in " + quarantine.String(), Because: why.Error()})
}

// recalled brings a pod back from its checkpoint, else from what the runtime has of it.
func (m *Machine) recalled(p *pod, r *Remembered) {
	if p.position != Paused {
		return
	}
	if r == nil {
		m.look(p)
		return
	}
	p.position, p.remembered = Unheard, r
	m.begin(p)
}

// restedNow records that a pod has given back all that it held.
func (m *Machine) restedNow(p *pod) {
	p.rested = true
	m.victimGone(p)
}

// ended records that nothing is left of a pod (B-WRK-16). The pod blocks its UID for as
// long as its source wants it, unless it was wanted again since. Before the API server was heard it may want
// one, and is then told how that has ended (B-RST-3).
func (m *Machine) ended(p *pod) {
	if !p.alive() {
		return
	}
	if p.source != API { // such a pod begins anew with the next agent (B-STA-8)
		m.do(Forget{UID: p.uid})
	}
	m.victimGone(p)
	m.over(p)
	if !p.wanted && (p.source != API || m.allHeard()) {
		m.drop(p)
	}
	m.roomFreed()
}

// over records that nothing is left of a pod. If it was wanted again while it left, it
// begins as a new pod (B-WRK-18).
func (m *Machine) over(p *pod) {
	p.position = Over
	m.giveBack(p)
	m.deleteObject(p)
	if p.again && p.newest.DeletionTimestamp == nil {
		forget(m, p)
		next := &pod{uid: p.uid, source: p.source, newest: p.newest, wanted: true}
		m.books.order.remove(p)
		m.pods[p.uid] = next
		m.books.order.add(next)
		m.do(Know{Source: p.source, Pod: p.newest, Again: true})
	}
}

// forget has the next agent not know of a pod of the API that was accepted, or refused. Until then it knows how that has ended, whatever
// the API server says at first: it may be behind (B-FIN-2).
func forget(m *Machine, p *pod) {
	if p.source == API && p.accepted != nil {
		m.do(Forget{UID: p.uid})
	}
}

// drop forgets a pod of which the node has nothing, or which is taken over from the runtime
// later: then it keeps what it was given by name, as it may run (A-DEV-9).
func (m *Machine) drop(p *pod) {
	if !m.wasFound(p) {
		m.giveBack(p)
	}
	forget(m, p)
	delete(m.pods, p.uid)
	m.books.order.remove(p)
	m.do(Drop{Source: p.source, UID: p.uid})
}

// deleteObject tells the API server, once, that nothing is left of a pod that is being
// deleted there (B-WRK-24, B-DEL-12).
func (m *Machine) deleteObject(p *pod) {
	if p.source == API && p.wanted && p.newest.DeletionTimestamp != nil && !p.deleted {
		p.deleted = true
		m.do(DeleteObject{Pod: p.newest, Status: p.status})
	}
}

// objectsChanged tells a living pod that what it uses has changed.
func (m *Machine) objectsChanged(p *pod, because lifecycle.Because) {
	if p.alive() {
		m.do(Tell{UID: p.uid, Fact: lifecycle.ObjectsChanged{Labels: p.newest.Labels, Annotations: p.newest.Annotations, Because: because}})
	}
}
