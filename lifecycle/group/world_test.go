package group

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// none is no attempt.
const none int32 = -1

// pod is a member as its node leads it.
type pod struct {
	number  int // unlike that of its predecessor
	member  Member
	seen    Attempts
	runs    int32 // the attempt that its containers were started in; none: nothing runs
	ending  bool  // what runs is to end
	reading bool  // it is new, and has not read where the group is
}

// shown is what the API has of a pod.
type shown struct {
	number  int
	attempt int32
}

// world is a group in which everything takes its time: each pod has a node that sees the leader
// late and in any order, and a leader that sees the pods late, and counts as the JobSet
// controller does.
type world struct {
	rt     *rapid.T
	pods   []*pod
	api    []shown    // by pod
	views  []shown    // the same as the leader sees it
	leader []Attempts // every version of the leader's object
	number int
	begun  int32 // the newest attempt that any pod was started in
	seen   map[string]int
}

func newWorld(rt *rapid.T, size int, seen map[string]int) *world {
	w := &world{rt: rt, leader: []Attempts{{}}, begun: none, seen: seen}
	for range size {
		w.pods, w.api, w.views = append(w.pods, nil), append(w.api, shown{}), append(w.views, shown{attempt: none})
	}
	for i := range w.pods {
		w.create(i)
	}
	return w
}

// create makes a pod in the place of another one, if there was one.
func (w *world) create(i int) {
	w.number++
	w.pods[i] = &pod{number: w.number, runs: none, reading: true}
	w.api[i] = shown{number: w.number, attempt: none}
}

// draw is one of n.
func (w *world) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.rt, what) }

// act lets one random thing happen to one pod, or to the leader.
func (w *world) act() {
	i := w.draw(len(w.pods), "pod")
	p := w.pods[i]
	switch w.draw(12, "action") {
	case 0, 1:
		if !p.reading { // any version, however old
			w.hears(p, w.leader[w.draw(len(w.leader), "version")])
		}
	case 2, 3:
		w.decides(p)
	case 4:
		w.ends(p)
	case 5:
		w.starts(p)
	case 6, 7:
		w.tells(i)
	case 8:
		w.views[i] = w.api[i]
	case 9:
		w.count()
	case 10:
		w.fails(p)
	case 11:
		w.breaks(i)
	}
	w.lawful()
}

// breaks is what happens rarely: the node's agent or the node itself is lost.
func (w *world) breaks(i int) {
	p := w.pods[i]
	switch w.draw(8, "broken") {
	case 0: // the agent goes on from its checkpoint
		w.seen["agent restarted"]++
	case 1:
		w.adopts(i)
	case 2: // the node is gone, with what ran there
		w.seen["pod replaced"]++
		w.create(i)
	case 3: // its sandbox is lost
		if p.runs != none {
			p.member.Attempt, p.member.Open, p.runs, p.ending = Failed(p.member, p.seen), false, none, false
			p.member.Ran = false
			w.seen["sandbox lost"]++
		}
	}
}

// adopts goes on with a pod from what the API and its containers say (B-GRP-13).
func (w *world) adopts(i int) {
	p, announced := w.pods[i], w.api[i].attempt
	if p.reading || announced == none {
		return
	}
	w.seen["agent restarted without a checkpoint"]++
	open := p.runs != none
	p.seen, p.member = Attempts{}, Member{Joined: true, Attempt: announced, Open: open, Ran: open}
	if p.ending {
		p.member = Member{Joined: true, Attempt: announced + 1}
	}
	p.reading = true // it reads again
}

func (w *world) hears(p *pod, version Attempts) {
	p.seen = p.seen.Merge(version)
}

// decides does what the member is to do.
func (w *world) decides(p *pod) {
	if p.reading { // what the API server has now (B-GRP-2)
		p.reading = false
		w.hears(p, w.leader[len(w.leader)-1])
	}
	before := p.member
	d := Decide(p.member, p.seen)
	w.seen[d.Do.String()]++
	switch d.Do {
	case Join, Leave:
		if before.Joined && d.Attempt <= before.Attempt {
			w.rt.Fatalf("from attempt %d to %d (B-GRP-8)", before.Attempt, d.Attempt)
		}
		p.member = Member{Joined: true, Attempt: d.Attempt}
		p.ending = p.runs != none
	case Start:
		p.member.Open = true
	case Wait, Run:
	}
}

func (w *world) ends(p *pod) {
	if p.ending {
		p.runs, p.ending, p.member.Ran = none, false, false
	}
}

func (w *world) starts(p *pod) {
	if !p.member.Open || p.ending || p.runs != none {
		return
	}
	if p.member.Attempt < w.begun {
		w.rt.Fatalf("a pod starts in attempt %d after attempt %d has begun (B-GRP-12)", p.member.Attempt, w.begun)
	}
	p.runs, p.member.Ran = p.member.Attempt, true
	w.begun = max(w.begun, p.runs)
}

// tells writes the annotation, once nothing of an earlier attempt runs (B-GRP-3).
func (w *world) tells(i int) {
	if p := w.pods[i]; p.member.Joined && !p.ending {
		w.api[i].attempt = p.member.Attempt
	}
}

// fails restarts a pod that runs, because of itself (B-GRP-6).
func (w *world) fails(p *pod) {
	if p.runs == none || p.ending {
		return
	}
	w.seen["failed"]++
	p.member.Attempt, p.member.Open, p.member.Ran = Failed(p.member, p.seen), false, false
	p.ending = true
}

// count is the leader's part: reconcileInPlaceRestart of JobSet v0.12.0.
func (w *world) count() {
	now := w.leader[len(w.leader)-1]
	var attempts []int32
	for _, v := range w.views {
		if v.attempt != none {
			attempts = append(attempts, v.attempt)
		}
	}
	switch {
	case len(attempts) == 0:
		return
	case len(attempts) == len(w.pods) && slices.Min(attempts) == slices.Max(attempts):
		now.Current = &attempts[0]
	case slices.Max(attempts) == 0 || now.Previous != nil && slices.Max(attempts)-1 < *now.Previous:
		return
	default:
		now.Previous = new(slices.Max(attempts) - 1)
	}
	w.leader = append(w.leader, now)
}

// lawful: containers of two attempts never run at the same time (B-GRP-12).
func (w *world) lawful() {
	running := none
	for _, p := range w.pods {
		switch {
		case p.runs == none:
		case running != none && running != p.runs:
			w.rt.Fatalf("attempts %d and %d run at the same time (B-GRP-12): %s", running, p.runs, w)
		default:
			running = p.runs
		}
	}
}

// goesOn lets everything happen that is to happen, in turn.
func (w *world) goesOn() {
	for i, p := range w.pods {
		if !p.reading {
			w.hears(p, w.leader[len(w.leader)-1])
		}
		w.decides(p)
		w.ends(p)
		w.lawful()
		w.starts(p)
		w.lawful()
		w.tells(i)
		w.views[i] = w.api[i]
		w.count()
	}
}

func (w *world) allRun() bool {
	return !slices.ContainsFunc(w.pods, func(p *pod) bool { return p.runs == none || p.ending || p.runs != w.begun })
}

func (w *world) String() string {
	text := fmt.Sprintf("leader %v", w.leader[len(w.leader)-1])
	for _, p := range w.pods {
		text += fmt.Sprintf("\n%d: %+v runs %d ending %t", p.number, p.member, p.runs, p.ending)
	}
	return text
}
