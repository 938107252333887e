package group

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// led is how the nodes of a crowd report to each other: by messages that are late, doubled, lost or overtaken, between nodes
// of which each reaches some others at a time, and each of which may believe to lead.
type led struct {
	nodes    map[string]*crowdNode
	messages []message
	number   int
}

// crowdNode has some pods, and sees them all as the API server had them at some time.
type crowdNode struct {
	name     string
	follower *Follower
	leader   *Leader // nil: it leads nothing
	view     int     // what it watches as leader is history[view]
	side     int     // it reaches the nodes of the same side
	mute     bool    // it can't report to others, ever
}

// message is what one node sends to another: one of the four.
type message struct {
	from, to     string
	join, report *Report
	joined       *Joined
	verdict      *Verdict
}

func newLed(rt *rapid.T, size int32, seen map[string]int) *crowd {
	w := &crowd{rt: rt, size: size, pods: map[string]*crowdPod{}, history: []map[string]Placed{{}}, begun: none, seen: seen}
	w.led = &led{nodes: map[string]*crowdNode{}}
	for range size {
		w.create()
	}
	return w
}

// place is the node of a new pod: one that there is, or another.
func (l *led) place(w *crowd) string {
	if l == nil {
		return ""
	}
	names := slices.Sorted(maps.Keys(l.nodes))
	if i := w.draw(4, "node"); i == 0 && len(names) > 0 {
		return names[w.draw(len(names), "which")]
	}
	l.number++
	name := fmt.Sprint("node-", l.number)
	l.nodes[name] = &crowdNode{name: name, follower: NewFollower("g", name, Follower{}), mute: w.draw(12, "mute") == 0}
	if l.nodes[name].mute {
		w.seen["mute"]++
	}
	return name
}

// late has a pod show later what its node reports.
func (l *led) late(w *crowd, p *crowdPod) bool {
	if l == nil {
		return false
	}
	n := l.nodes[w.api()[p.uid].Node]
	w.have(n)
	p.said.Mode = n.follower.Modes[p.uid]
	return w.draw(3, "written") > 0
}

// have tells the follower of a node what its pods are.
func (w *crowd) have(n *crowdNode) {
	var here []Peer
	for _, p := range w.on(n.name) {
		said, shown := p.said, w.api()[p.uid]
		said.Mode = shown.Mode
		here = append(here, said)
	}
	n.follower.Have(here)
}

func (w *crowd) on(node string) []*crowdPod {
	return slices.DeleteFunc(w.all(), func(p *crowdPod) bool { return w.api()[p.uid].Node != node })
}

func (w *crowd) placed(view int) (all []Placed) {
	for _, uid := range slices.Sorted(maps.Keys(w.history[view])) {
		all = append(all, w.history[view][uid])
	}
	return all
}

// actLed lets one random thing happen between nodes.
func (w *crowd) actLed() {
	names := slices.Sorted(maps.Keys(w.led.nodes))
	n := w.led.nodes[names[w.draw(len(names), "node")]]
	w.have(n)
	switch w.draw(16, "action of a node") {
	case 0, 1:
		w.joins(n, func(string) bool { return w.draw(3, "silent") == 0 })
	case 2, 3:
		if n.leader != nil {
			n.view += w.draw(len(w.history)-n.view, "seen by the leader")
			n.leader.Observe(uint64(n.view), w.placed(n.view))
		}
	case 4:
		w.send(message{from: n.name, report: new(n.follower.Report())})
	case 5:
		w.breaksNode(n)
	default:
		if len(w.led.messages) > 0 {
			w.delivers(w.draw(len(w.led.messages), "message"))
		}
	}
	w.lawful()
}

func (w *crowd) breaksNode(n *crowdNode) {
	switch w.draw(12, "node broken") {
	case 0:
		w.seen["partition"]++
		for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
			w.led.nodes[name].side = w.draw(2, "side")
		}
	case 1, 2:
		for _, other := range w.led.nodes {
			other.side = 0
		}
	case 3:
		w.seen["leads no more"]++
		n.leader = nil
	case 4:
		w.seen["agent restarted"]++
		n.leader, n.follower = nil, NewFollower("g", n.name, *n.follower)
	case 5:
		w.forgetsAll(n)
	case 6:
		w.seen["node lost"]++
		for _, p := range w.on(n.name) {
			w.remove(p)
		}
		delete(w.led.nodes, n.name)
		if len(w.led.nodes) == 0 {
			w.create()
		}
	case 7:
		if n.leader != nil {
			for _, name := range slices.Sorted(maps.Keys(n.leader.reports)) {
				n.leader.Leave(name)
			}
		}
	case 8:
		w.seen["goes by pods"]++
		w.byPods(n, n.view)
	}
}

func (w *crowd) byPods(n *crowdNode, oldest int) {
	view := oldest + w.draw(len(w.history)-oldest, "seen alone")
	n.view = max(n.view, view)
	n.follower.Observe(peersIn(w.history[view]))
}

// forgetsAll: the agent restarts, and has lost its checkpoints.
func (w *crowd) forgetsAll(n *crowdNode) {
	w.seen["node forgets"]++
	var shown []Peer
	for _, p := range w.on(n.name) {
		peer := w.api()[p.uid].Peer
		shown = append(shown, peer)
		if p.finished {
			continue
		}
		ran := p.runs != none
		p.seen, p.membersHash, p.said, p.started = Attempts{}, "", peer, none
		switch {
		case peer.Attempt == nil:
			p.member = Member{Ran: ran}
		case peer.Mode%2 == 0 && !p.ending:
			p.member = Member{Joined: true, Attempt: *peer.Attempt, Open: ran, Ran: ran}
		default:
			p.member = Member{Joined: true, Attempt: *peer.Attempt + 1}
			p.ending = ran
		}
	}
	n.leader, n.follower = nil, NewFollower("g", n.name, Forgotten(uint64(len(w.history)-1), shown))
	w.forgets()
}

// joins has a node look for a leader, and join it.
func (w *crowd) joins(n *crowdNode, silent func(string) bool) {
	leader := LeaderOf(w.placed(len(w.history)-1), func(name string) bool {
		other := w.led.nodes[name]
		return other == nil || other.mute || other.side != n.side || silent(name)
	})
	if leader == nil || n.mute {
		w.byPods(n, n.view)
		return
	}
	if n.follower.MustJoin() || n.follower.term.Leader != leader.UID {
		w.send(message{from: n.name, to: leader.Node, join: new(n.follower.Report())})
	}
}

// send puts a message on its way; to nobody in particular: to the leader.
func (w *crowd) send(m message) {
	if n := w.led.nodes[m.from]; m.to == "" && !n.mute {
		if leader, there := w.api()[n.follower.term.Leader]; there {
			m.to = leader.Node
		}
	}
	if w.led.nodes[m.to] != nil {
		w.led.messages = append(w.led.messages, m)
	}
}

// delivers has a message arrive, once or again, or not at all.
func (w *crowd) delivers(i int) {
	m := w.led.messages[i]
	if w.draw(5, "again") > 0 || len(w.led.messages) > 30 {
		w.led.messages = slices.Delete(slices.Clone(w.led.messages), i, i+1)
	} else {
		w.seen["message doubled"]++
	}
	from, to := w.led.nodes[m.from], w.led.nodes[m.to]
	if to == nil || from == nil || from.side != to.side || w.draw(10, "lost") == 0 {
		w.seen["message lost"]++
		return
	}
	w.arrives(to, m)
}

func (w *crowd) arrives(n *crowdNode, m message) {
	w.have(n)
	switch {
	case m.join != nil:
		w.leads(n)
		if n.leader != nil {
			w.send(message{from: n.name, to: m.from, joined: new(n.leader.Join(*m.join))})
			w.tellsAll(n)
		}
	case m.joined != nil:
		n.follower.Join(*m.joined)
		w.send(message{from: n.name, report: new(n.follower.Report())})
	case m.report != nil && n.leader != nil:
		n.leader.Hear(*m.report)
		w.tellsAll(n)
	case m.verdict != nil:
		w.seen["verdict"]++
		if n.follower.Hear(*m.verdict) {
			w.send(message{from: n.name, report: new(n.follower.Report())})
		}
	}
}

// leads has a node lead that is asked to, if it has a member.
func (w *crowd) leads(n *crowdNode) {
	if here := w.on(n.name); n.leader == nil && len(here) > 0 {
		w.number++
		n.leader = NewLeader("g", here[0].uid, fmt.Sprint(w.number))
		n.leader.Observe(uint64(n.view), w.placed(n.view))
		leading := 0
		for _, other := range w.led.nodes {
			if other.leader != nil {
				leading++
			}
		}
		if leading > 1 {
			w.seen["two lead"]++
		}
	}
}

func (w *crowd) tellsAll(n *crowdNode) {
	v := n.leader.Verdict()
	for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
		w.send(message{from: n.name, to: name, verdict: &v})
	}
}

// goesOnLed lets everything happen between nodes that is to happen, in turn.
func (w *crowd) goesOnLed() {
	for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
		w.led.nodes[name].side, w.led.nodes[name].view = 0, len(w.history)-1
	}
	first := LeaderOf(w.placed(len(w.history)-1), func(name string) bool { return w.led.nodes[name].mute })
	for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
		n := w.led.nodes[name]
		w.have(n)
		if first == nil || n.mute {
			n.follower.Observe(peersIn(w.api()))
			continue
		}
		leader := w.led.nodes[first.Node]
		if n != leader {
			n.leader = nil
		}
		if leader.leader == nil || leader.leader.term.Leader != first.UID {
			leader.leader = NewLeader("g", first.UID, fmt.Sprint("end-", len(w.history), w.draw(1e9, "term")))
		}
		leader.leader.Observe(uint64(len(w.history)-1), w.placed(len(w.history)-1))
		if n.follower.MustJoin() || !n.follower.term.same(leader.leader.term) {
			n.follower.Join(leader.leader.Join(n.follower.Report()))
		}
		leader.leader.Hear(n.follower.Report())
		n.follower.Hear(leader.leader.Verdict())
	}
	w.led.messages = nil
}

func (l *led) String() (text string) {
	if l == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		n := l.nodes[name]
		text += fmt.Sprintf("\n%s: mute %t side %d %+v", name, n.mute, n.side, *n.follower)
		if n.follower.now != nil {
			text += fmt.Sprintf(" now %+v", *n.follower.now)
		}
		if n.leader != nil {
			text += fmt.Sprintf("\n  leads: %+v", *n.leader)
			for _, m := range n.leader.all() {
				text += fmt.Sprintf("\n    %+v reported %+v", *m, m.reported)
			}
		}
	}
	return text
}
