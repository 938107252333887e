package roster

import (
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// beginAll begins every pod that may begin now. It is called at the start, and whenever
// something changes that pods wait for.
func (m *Machine) beginAll() {
	settle(m)
	for _, p := range podsOf(m, slices.Collect(maps.Keys(m.books.idle))) {
		if p.wanted && m.heard[p.source] {
			with(m, p, m.begin)
		}
	}
}

// begin begins a pod's life, continues one that another agent began, or leaves the
// pod waiting.
func (m *Machine) begin(p *pod) {
	switch {
	case !m.opened || p.begun() || p.position == Over:
	case p.remembered != nil:
		m.resume(p)
	case m.nameLives(p):
		m.waits(p, ForName, never())
	case m.wasFound(p) && m.awaitsMirror(p): // it runs already
		m.waits(p, ForMirror, never())
	case m.wasFound(p) || p.ranBefore():
		m.look(p)
	default:
		m.admit(p, m.node)
	}
}

// ranBefore says whether the status of its object tells that it has begun on this node, which has not been looked into.
func (p *pod) ranBefore() bool {
	return !p.ran && lifecycle.RanBefore(p.newest)
}

// nameLives says whether another static pod of the same name has not ended yet (B-WRK-19).
// One that the runtime had at the start is first, whether it is taken over already or not.
func (m *Machine) nameLives(p *pod) bool {
	if p.source == API {
		return false
	}
	for _, other := range m.pods {
		runs := other.begun() || m.wasFound(other) && !m.wasFound(p)
		if other != p && runs && other.source != API && other.name() == p.name() {
			return true
		}
	}
	for uid, found := range m.found { // also one of which neither a source nor an agent before has reported yet
		if m.pods[uid] == nil && !m.wasFound(p) && found.Namespace+"/"+found.Name == p.name() {
			return true
		}
	}
	return false
}

// admit asks whether the node has room for a new pod (A-ADM-1). A pod that is being
// deleted needs none.
func (m *Machine) admit(p *pod, node *v1.Node) {
	if p.newest.DeletionTimestamp != nil {
		m.start(p)
		return
	}
	if refusal := admit.UnderPressure(p.newest, m.short.conditions); refusal != nil {
		m.refuse(p, *refusal)
		return
	}
	if refusal := m.shutdownRefusal(); refusal != nil {
		m.refuse(p, *refusal)
		return
	}
	if m.allocate(p) {
		return
	}
	switch answer := admit.Decide(p.newest, m.holders(p), p.without(node), m.options.Host); {
	case p.rereads(answer, &m.options):
		p.reread = true
		m.waits(p, ForNode, never())
		m.do(ReadNode{UID: p.uid})
	case len(answer.Victims) > 0:
		m.preempt(p, answer)
	case answer.Refusal != nil && m.hasRoomSoon(p, node):
		p.reread = false // what was read may have changed by then
		m.waits(p, ForRoom, never())
	case answer.Refusal != nil:
		m.refuse(p, *answer.Refusal)
	default:
		m.start(p)
	}
}

// nodeRead admits a pod again with the Node read from the API server, because only the
// Node's labels refused the pod and they may have changed (A-ADM-4). If the Node could not
// be read, the known one is used.
func (m *Machine) nodeRead(p *pod, node *v1.Node) {
	if p.position != Waiting || p.reason != ForNode {
		return
	}
	p.position = Unheard
	if node == nil {
		node = m.node
	}
	switch {
	case !p.wanted:
		m.leave(p)
	case p.ranBefore(): // as the API server tells meanwhile
		m.look(p)
	default:
		m.admit(p, node)
	}
	if !p.holds() { // its place was kept
		m.roomFreed()
	}
}

// start begins the life of an admitted pod that has nothing in the runtime. What its
// status says about containers still counts (B-RST-4).
func (m *Machine) start(p *pod) {
	if !p.ran {
		m.do(Begin{Source: p.source, Pod: p.newest})
		m.lives(p, p.newest)
		return
	}
	m.report(p, lifecycle.Words{What: "goes on", Because: "its status tells of containers, the runtime has nothing of it", Rule: "B-RST-4"})
	m.adopt(p, lifecycle.Observed{})
}

func (m *Machine) refuse(p *pod, why admit.Refusal) {
	m.do(Refuse{Source: p.source, Pod: p.newest, Why: why})
	m.lives(p, p.newest)
	p.refused = true
}

// lives records that a worker has the accepted pod, and tells the worker what has changed
// since.
func (m *Machine) lives(p *pod, accepted *v1.Pod) {
	p.position, p.reason, p.until, p.reported, p.again = Living, "", never(), "", false
	p.accepted, p.refused, p.left = accepted, false, false
	p.evicted, p.pressed = time.Time{}, false // a worker before may not have taken that in: whoever needs the pod's place asks again
	p.terminated, p.rested, p.reread = false, false, false
	switch {
	case p.wanted && (p.newest != accepted || p.newest.DeletionTimestamp != nil):
		m.do(Tell{UID: p.uid, Fact: lifecycle.PodUpdated{Pod: p.newest}})
	case !p.wanted && m.allHeard():
		m.leave(p)
	}
}

// resume continues where a previous worker stopped.
func (m *Machine) resume(p *pod) {
	remembered := *p.remembered
	p.remembered = nil
	if found, there := m.found[p.uid]; there && remembered.Checkpoint.Overtaken(found.Seen) {
		m.overtaken(p)
		return
	}
	delete(m.found, p.uid)
	p.knowsFrom(&remembered)
	m.do(Resume{Remembered: remembered})
	m.lives(p, remembered.Pod)
	if p.source != API && remembered.Checkpoint.Deleted { // its source had it no longer: it ends, whatever that says now (B-STA-7)
		p.position, p.left, p.again = Leaving, true, p.wanted
	}
	m.terminate(p)
}

// knowsFrom files the status that a pod of the API had reported: for those that begin before Resumed
// comes (A-ADM-7, B-RST-19), and if the pod can't be resumed (B-RST-9). A static pod that failed
// is tried again then (B-STA-8). What the object tells of is older than a worker of this agent.
func (p *pod) knowsFrom(r *Remembered) {
	switch reported := r.Checkpoint.Reported; {
	case p.accepted == nil && lifecycle.Terminal(p.newest.Status.Phase):
		p.status = p.newest.Status
	case reported.Phase != "" && p.source == API:
		p.status = reported
	}
}

// resumed files how far a pod had come. Of a resize that was granted since a worker before
// may not have heard: if its status doesn't tell of it, it is asked for again.
func (m *Machine) resumed(p *pod, status v1.PodStatus) {
	before, granted := p.status, p.resize.granted != nil
	p.status, p.resize.granted = status, nil
	if granted || gaveBack(&before, &status) {
		m.roomFreed()
	}
}

// notResumed continues a pod from what the runtime has of it.
func (m *Machine) notResumed(p *pod, why error) {
	if !p.alive() {
		return
	}
	m.warn(p, lifecycle.Words{What: "is adopted from what the runtime has of it", Because: "its checkpoint can't be used: " + why.Error(), Rule: "B-RST-9"})
	m.look(p)
}

// overtaken has a pod adopted because another agent, such as a kubelet, has run it since
// its checkpoint was written. It is adopted now if it is wanted, else when its source, which
// knows how far it has come, wants it, or when no source does.
func (m *Machine) overtaken(p *pod) {
	m.report(p, lifecycle.Words{What: "is adopted", Because: "another agent has run it meanwhile", Rule: "B-RST-2"})
	m.do(Forget{UID: p.uid})
	if p.wanted {
		m.begin(p)
		return
	}
	m.drop(p)
}

func counted(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.Itoa(n) + " pods"
}
