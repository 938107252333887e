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
	off      int // faults that this walk leaves out, a bit for each: many at once hide each other
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

// message is what one node sends to another, and what comes of it there.
type message struct {
	from, to string
	arrives  func(*crowdNode)
}

func newLed(rt *rapid.T, size int32, seen map[string]int) *crowd {
	w := &crowd{rt: rt, size: size, pods: map[string]*crowdPod{}, history: []map[string]Placed{{}}, begun: none, seen: seen}
	w.led = &led{nodes: map[string]*crowdNode{}, off: w.draw(1<<20, "off")}
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
	l.nodes[name] = &crowdNode{name: name, follower: NewFollower("g", name, Follower{}), mute: l.off&1 == 0 && w.draw(12, "mute") == 0}
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
	return w.draw(4, "written") > 0
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
	if w.led.off%3 == 0 { // a walk in large steps
		switch w.draw(8, "large step") {
		case 0, 1, 2:
			w.parts()
		case 3:
			w.replaces(w.all()[w.draw(2, "first or second")%len(w.pods)])
		default:
			w.sideGoesOn()
		}
		return
	}
	switch w.draw(16, "action of a node") {
	case 0, 1:
		w.joins(n, func(string) bool { return w.draw(10, "silent") == 0 })
	case 2, 3:
		if n.leader != nil {
			n.view += w.draw(len(w.history)-n.view, "seen by the leader")
			n.leader.Observe(uint64(n.view), w.placed(n.view))
		}
	case 4:
		w.reports(n)
	case 5:
		w.breaksNode(n)
	case 6:
		w.sideGoesOn()
	default:
		if len(w.led.messages) > 0 {
			w.delivers(w.draw(len(w.led.messages), "message"))
		}
	}
	w.lawful()
}

func (w *crowd) breaksNode(n *crowdNode) {
	fault := w.draw(10, "node broken")
	if w.led.off&(2<<fault) != 0 {
		fault = w.draw(3, "partition")
	}
	switch fault {
	case 0, 9:
		w.parts()
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
			n.leader.Tire(w.draw(2, "tired") == 0)
			for _, name := range slices.Sorted(maps.Keys(n.leader.reports)) {
				n.leader.Leave(name)
			}
		}
	case 8:
		w.seen["goes by pods"]++
		w.byPods(n, n.view)
	}
}

// parts has each node reach some of the others only.
func (w *crowd) parts() {
	w.seen["partition"]++
	for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
		w.led.nodes[name].side = w.draw(2, "side")
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
	if n.mute {
		w.byPods(n, n.view)
	} else if leader != nil && (n.follower.MustJoin() || n.follower.term.Leader != leader.UID) {
		r := n.follower.Report()
		w.send(n, leader.Node, func(to *crowdNode) {
			if w.leads(to); to.leader == nil {
				return
			}
			joined := to.leader.Join(r)
			w.send(to, n.name, func(n *crowdNode) {
				n.follower.Join(joined)
				w.reports(n)
			})
			w.tellsAll(to)
		})
	}
}

// reports has a node report to its leader.
func (w *crowd) reports(n *crowdNode) {
	r := n.follower.Report()
	w.send(n, w.api()[n.follower.term.Leader].Node, func(to *crowdNode) {
		if to.leader != nil {
			to.leader.Hear(r)
			w.tellsAll(to)
		}
	})
}

func (w *crowd) tellsAll(n *crowdNode) {
	v := n.leader.Verdict()
	for _, name := range slices.Sorted(maps.Keys(w.led.nodes)) {
		w.send(n, name, func(to *crowdNode) {
			w.seen["verdict"]++
			if to.follower.Hear(v) {
				w.reports(to)
			}
		})
	}
}

func (w *crowd) send(from *crowdNode, to string, arrives func(*crowdNode)) {
	if w.led.nodes[to] != nil && !from.mute {
		w.led.messages = append(w.led.messages, message{from.name, to, arrives})
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
	w.have(to)
	m.arrives(to)
}

// leads has a node lead that is asked to, if it has a member.
func (w *crowd) leads(n *crowdNode) {
	if here := w.on(n.name); n.leader == nil && len(here) > 0 {
		w.number++
		n.leader = NewLeader("g", here[0].uid, fmt.Sprint(w.number))
		n.leader.Observe(uint64(n.view), w.placed(n.view))
		for _, other := range w.led.nodes {
			if other.leader != nil && other != n {
				w.seen["two lead"]++
			}
		}
	}
}

// goesOnLed lets everything happen between nodes that is to happen, in turn.
func (w *crowd) goesOnLed() {
	for _, n := range w.led.nodes {
		n.side, n.view = 0, len(w.history)-1
	}
	w.led.messages = nil
	for name, n := range w.meets(slices.Sorted(maps.Keys(w.led.nodes)), 0, true) {
		if n.mute {
			n.follower.Observe(peersIn(w.api()))
		} else if lead := w.led.nodes[name]; lead != n {
			n.leader = nil
		}
	}
}

// meets has nodes of a side join the same leader, report to it, and hear from it. It yields each with its leader's name.
func (w *crowd) meets(names []string, side int, watches bool) func(func(string, *crowdNode) bool) {
	return func(yield func(string, *crowdNode) bool) {
		first := LeaderOf(w.placed(len(w.history)-1), func(name string) bool { return w.led.nodes[name].mute || w.led.nodes[name].side != side })
		for _, name := range names {
			n := w.led.nodes[name]
			w.have(n)
			if first == nil || n.mute || n.side != side {
				yield("", n)
				continue
			}
			lead := w.led.nodes[first.Node]
			if lead.leader == nil || lead.leader.term.Leader != first.UID {
				w.number++
				lead.leader = NewLeader("g", first.UID, fmt.Sprint(w.number))
			}
			if watches {
				lead.view = len(w.history) - 1
			}
			lead.leader.Observe(uint64(lead.view), w.placed(lead.view))
			if n.follower.MustJoin() || !n.follower.term.same(lead.leader.term) {
				n.follower.Join(lead.leader.Join(n.follower.Report()))
			}
			lead.leader.Hear(n.follower.Report())
			n.follower.Hear(lead.leader.Verdict())
			yield(first.Node, n)
		}
	}
}

// sideGoesOn has the nodes that reach each other go on for a while, which the others hear nothing of, nor the API server.
func (w *crowd) sideGoesOn() {
	w.seen["a side goes on"]++
	side, watches := w.draw(2, "which side"), w.draw(2, "watches") == 0
	names := rapid.Permutation(slices.Sorted(maps.Keys(w.led.nodes))).Draw(w.rt, "nodes")
	names = names[w.draw(len(names), "without"):]
	for range w.draw(6, "times") {
		for lead, n := range w.meets(names, side, watches) {
			for _, p := range w.on(n.name) {
				if lead == "" || w.draw(8, "held up") == 0 {
					continue
				}
				p.view = len(w.history) - 1
				w.decides(p)
				w.ends(p)
				if w.draw(3, "starts") > 0 {
					w.starts(p)
				}
				w.tells(p, true)
				if w.draw(12, "fails") == 0 {
					w.fails(p)
				}
				w.lawful()
			}
		}
	}
}

func (l *led) String() (text string) {
	if l == nil {
		return ""
	}
	for _, n := range l.nodes {
		text += fmt.Sprintf("\n%s: side %d mute %t %+v now %+v leads %+v", n.name, n.side, n.mute, *n.follower, n.follower.now, n.leader)
	}
	return text
}
