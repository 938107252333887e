package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// crowd is a group without a leader in which everything takes its time. Each node sees the pods as the API server had them
// at some time, never an earlier one than before; a controller creates pods again, early or late, and now and then one too
// many; members leave, succeed, and are told another size.
type crowd struct {
	rt      *rapid.T
	size    int32
	pods    map[string]*crowdPod // by UID, as their nodes lead them
	history []map[string]Placed  // what the API server had, by UID
	number  int
	begun   int32 // the newest attempt that any pod was started in
	seen    map[string]int
	settled bool
	led     *led // how the nodes report to each other; nil: they don't
}

// crowdPod is a member as its node leads it.
type crowdPod struct {
	uid         string
	member      Member
	seen        Attempts
	membersHash string // of the attempt that it was started in
	view        int    // what its node sees is history[view]
	heard       bool
	runs        int32 // the attempt that its containers were started in; none: nothing runs
	ending      bool  // what runs is to end
	finished    bool  // it has succeeded
	said        Peer  // what its node reports to others
	started     int32 // the newest attempt that it was started in, as far as its node remembers
}

func newCrowd(rt *rapid.T, size int32, seen map[string]int) *crowd {
	w := &crowd{rt: rt, size: size, pods: map[string]*crowdPod{}, history: []map[string]Placed{{}}, begun: none, seen: seen}
	for range size {
		w.create()
	}
	return w
}

func (w *crowd) api() map[string]Placed { return w.history[len(w.history)-1] }

// write changes what the API server has.
func (w *crowd) write(change func(map[string]Placed)) {
	next := maps.Clone(w.api())
	change(next)
	w.history = append(w.history, next)
	w.forgets()
}

// forgets: of the newest attempt nobody may be left that knows, nor anything that runs.
func (w *crowd) forgets() {
	known := none
	for uid, p := range w.api() {
		if p.Attempt != nil {
			known = max(known, *p.Attempt)
		}
		if pod := w.pods[uid]; w.led != nil && pod != nil {
			known = max(known, pod.started)
		}
	}
	w.begun = min(w.begun, known)
}

func (w *crowd) create() {
	w.number++
	uid := fmt.Sprint("pod-", w.number)
	w.pods[uid] = &crowdPod{uid: uid, runs: none, started: none, view: w.draw(len(w.history), "first seen")}
	said := Peer{Name: uid, UID: uid, Size: w.size}
	w.pods[uid].said = said
	w.write(func(api map[string]Placed) {
		api[uid] = Placed{Peer: said, Node: w.led.place(w), Version: uint64(len(w.history))}
	})
}

// remove has a pod's object go; nothing of it runs.
func (w *crowd) remove(p *crowdPod) {
	delete(w.pods, p.uid)
	w.write(func(api map[string]Placed) { delete(api, p.uid) })
}

func (w *crowd) change(p *crowdPod, change func(*Peer)) {
	w.write(func(api map[string]Placed) {
		placed := api[p.uid]
		change(&placed.Peer)
		placed.Version = uint64(len(w.history))
		api[p.uid] = placed
	})
}

func peersIn(view map[string]Placed) (all []Peer) { // in any order
	for _, p := range view {
		all = append(all, p.Peer)
	}
	return all
}

func (w *crowd) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.rt, what) }

// all are the pods in the order of their names.
func (w *crowd) all() (list []*crowdPod) {
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		list = append(list, w.pods[uid])
	}
	return list
}

// act lets one random thing happen to one pod.
func (w *crowd) act() {
	all := w.all()
	if len(all) == 0 {
		w.create()
		return
	}
	if w.led != nil && w.draw(3, "between nodes") > 0 {
		w.actLed()
		return
	}
	p := all[w.draw(len(all), "pod")]
	switch w.draw(12, "action") {
	case 0, 1, 2:
		p.view += w.draw(len(w.history)-p.view, "seen")
		w.decides(p)
	case 3, 4:
		w.ends(p)
	case 5:
		w.starts(p)
	case 6, 7, 8:
		w.tells(p, w.draw(2, "tells when it has begun") == 0)
	case 9, 10:
		w.fails(p)
	case 11:
		w.breaks(p)
	}
	w.lawful()
}

// breaks is what happens rarely.
func (w *crowd) breaks(p *crowdPod) {
	fault := w.draw(10, "broken")
	if w.led != nil && w.led.off&(1<<(fault+10)) != 0 {
		return
	}
	switch fault {
	case 0:
		w.adopts(p)
	case 1:
		w.replaces(p)
	case 2: // and late
		w.remove(p)
	case 3, 4: // it is deleted, and its successor is there before it ends
		w.seen["pod deleted"]++
		if !w.api()[p.uid].Leaving {
			w.change(p, func(peer *Peer) { peer.Leaving = true })
			w.create()
		}
	case 5:
		w.seen["one too many"]++
		w.create()
	case 6:
		if p.runs != none && !p.ending {
			w.seen["succeeded"]++
			p.runs, p.finished = none, true
		}
	case 7:
		w.seen["another size"]++
		w.change(p, func(peer *Peer) { peer.Size = int32(w.draw(5, "size")) })
	case 8: // its sandbox is lost
		if p.runs != none {
			p.member.Attempt, p.member.Open, p.runs, p.ending = Failed(p.member, p.seen), false, none, false
			p.member.Ran = false
			w.seen["sandbox lost"]++
		}
	case 9: // its agent restarts, with its checkpoint, and reads the pods from an API server that lags
		p.heard = false
	}
}

// replaces: the node is gone, with what ran there; the controller is quick.
func (w *crowd) replaces(p *crowdPod) {
	w.seen["pod replaced"]++
	w.remove(p)
	w.create()
}

// adopts goes on with a pod from what the API and its containers say (B-GRP-13).
func (w *crowd) adopts(p *crowdPod) {
	announced := w.api()[p.uid].Attempt
	if announced == nil || p.finished || w.led != nil {
		return
	}
	w.seen["agent restarted without a checkpoint"]++
	open := p.runs != none
	p.seen, p.membersHash, p.heard, p.member = Attempts{}, "", false, Member{Joined: true, Attempt: *announced, Open: open, Ran: open}
	if p.ending {
		p.member = Member{Joined: true, Attempt: *announced + 1}
	}
}

// decides does what the member is to do by what its node sees. A pod that is being deleted only ends.
func (w *crowd) decides(p *crowdPod) {
	view := w.history[p.view]
	if _, there := view[p.uid]; !there || p.finished {
		return // its node has seen the pod before it watches the group
	}
	if w.leaves(p) {
		return
	}
	now, known := PeersOf(peersIn(view)).Attempts(p.uid, true), true
	if w.led != nil {
		now, known = w.led.nodes[w.api()[p.uid].Node].follower.Attempts(p.uid)
	}
	if !known && !p.member.Joined {
		return
	}
	p.heard = true
	p.seen = p.seen.Merge(now)
	before := p.member
	d := Decide(p.member, p.seen)
	w.seen[d.Do.String()]++
	switch d.Do {
	case Join, Leave:
		if before.Joined && d.Attempt <= before.Attempt {
			w.rt.Fatalf("from attempt %d to %d (B-GRP-8)", before.Attempt, d.Attempt)
		}
		p.member, p.membersHash = Member{Joined: true, Attempt: d.Attempt}, ""
		p.ending = p.runs != none
	case Start:
		p.member.Open, p.membersHash = true, p.seen.MembersHash
	case Run:
		p.membersHash = cmp.Or(p.membersHash, p.seen.MembersHashIn(p.member.Attempt))
	case Wait:
	}
}

// leaves says whether the pod is being deleted, as its node sees it, and ends it.
func (w *crowd) leaves(p *crowdPod) bool {
	if !w.history[p.view][p.uid].Leaving {
		return false
	}
	p.member.Open = false
	if p.runs == none {
		w.remove(p)
	}
	p.ending = true
	return true
}

func (w *crowd) ends(p *crowdPod) {
	if p.ending {
		p.runs, p.ending, p.member.Ran = none, false, false
	}
}

func (w *crowd) starts(p *crowdPod) {
	if !p.member.Open || p.ending || p.runs != none || p.finished {
		return
	}
	if p.member.Attempt < w.begun {
		w.rt.Fatalf("a pod starts in attempt %d after attempt %d has begun (B-GRP-12)\n%s", p.member.Attempt, w.begun, w)
	}
	p.runs, p.started, p.member.Ran = p.member.Attempt, p.member.Attempt, true
	if w.begun < p.runs {
		w.seen["attempt begun"]++
		if w.led != nil && w.led.nodes[w.api()[p.uid].Node].follower.Modes[p.uid]%2 == 1 {
			w.seen["attempt begun by a leader"]++
		}
	}
	w.begun = max(w.begun, p.runs)
}

// tells writes the annotations (B-GRP-18); what has begun may be reported later than the rest.
func (w *crowd) tells(p *crowdPod, began bool) {
	if _, there := w.pods[p.uid]; !there || !p.member.Joined || p.ending {
		return
	}
	p.said.Attempt, p.said.Done = new(p.member.Attempt), p.finished
	if began && p.member.Open && p.membersHash != "" {
		p.said.Began = &Began{Attempt: p.member.Attempt, MembersHash: p.membersHash}
	}
	if w.led.late(w, p) && !w.settled {
		return
	}
	w.change(p, func(peer *Peer) {
		peer.Attempt, peer.Began, peer.Done, peer.Mode = p.said.Attempt, p.said.Began, p.said.Done, p.said.Mode
	})
}

func (w *crowd) fails(p *crowdPod) {
	if p.runs == none || p.ending {
		return
	}
	w.seen["failed"]++
	p.member.Attempt, p.member.Open, p.member.Ran, p.membersHash = Failed(p.member, p.seen), false, false, ""
	p.ending = true
}

// lawful: containers of two attempts never run at the same time (B-GRP-12).
func (w *crowd) lawful() {
	running := none
	for _, p := range w.all() {
		switch {
		case p.runs == none:
		case running != none && running != p.runs:
			w.rt.Fatalf("attempts %d and %d run at the same time (B-GRP-12): %s", running, p.runs, w)
		default:
			running = p.runs
		}
	}
}

// settles has the controller create what is missing, and all members say the same size.
func (w *crowd) settles() {
	count := int32(0)
	for _, p := range w.all() {
		peer := w.api()[p.uid]
		if peer.Size != w.size {
			w.change(p, func(peer *Peer) { peer.Size = w.size })
		}
		if !peer.Leaving {
			count++
		}
	}
	for ; count < w.size; count++ {
		w.create()
	}
}

// goesOn lets everything happen that is to happen, in turn.
func (w *crowd) goesOn() {
	w.settles()
	if w.led != nil {
		w.goesOnLed()
	}
	for _, p := range w.all() {
		p.view = len(w.history) - 1
		w.decides(p)
		w.ends(p)
		w.lawful()
		w.starts(p)
		w.lawful()
		w.tells(p, true)
	}
}

// runsAsOne says whether all members run in one attempt that began with them, and no others (B-GRP-20).
func (w *crowd) runsAsOne() bool {
	membersHash := membersHashOf(peersIn(w.api()), w.begun)
	for _, p := range w.all() {
		began := w.api()[p.uid].Began
		if !p.finished && (p.runs == none || p.ending || p.runs != w.begun || began == nil || began.MembersHash != membersHash) {
			return false
		}
	}
	return true
}

func (w *crowd) String() string {
	text := fmt.Sprintf("size %d", w.size)
	for _, p := range w.all() {
		peer := w.api()[p.uid]
		text += fmt.Sprintf("\n%s: %+v runs %d ending %t finished %t view %d of %d",
			p.uid, p.member, p.runs, p.ending, p.finished, p.view, len(w.history)-1)
		if peer.Attempt != nil {
			text += fmt.Sprintf(" told %d", *peer.Attempt)
		}
		if peer.Began != nil {
			text += fmt.Sprintf(" began %v", *peer.Began)
		}
		text += fmt.Sprintf(" mode %d on %s", peer.Mode, peer.Node)
	}
	return text + w.led.String()
}
