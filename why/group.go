package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Group is how the members of a group are whose pods restart as one (B-GRP), and how it came to
// its newest attempt. Each time is that of a member's own node.
type Group struct {
	Name string    `json:"name"` // namespace/name
	At   time.Time `json:"at"`   // the time that it was asked for
	// Standing is how the group is, in one sentence.
	Standing string `json:"standing"`
	// Attempt is the newest that a member takes part in; nil: none does.
	Attempt *int32 `json:"attempt,omitzero"`
	// Began are the members that failed, and that the attempt began with, the first one first;
	// none: it began without a failure, as the first one does, or the member is gone.
	Began []GroupBeginning `json:"began,omitzero"`
	// Steps are where the time went until all ran: what the group waited for, one after the other,
	// as far as it has come.
	Steps   []GroupStep   `json:"steps,omitzero"`
	Members []GroupMember `json:"members"` // by name
}

// GroupBeginning is a member's failure that the group restarts for.
type GroupBeginning struct {
	Pod     string    `json:"pod"`
	Node    string    `json:"node,omitzero"`
	At      time.Time `json:"at"` // of the exit, if it was one
	Because string    `json:"because"`
}

// GroupStep is something that a group waits for until the last member has done it.
type GroupStep struct {
	What StepOfGroup `json:"what"`
	// Took is how long after the step before; Seconds is the same for programs.
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// Last is the member that the others waited for; of a lifted barrier it is the first that
	// knew. Container is whose end it was.
	Last      string `json:"last"`
	Node      string `json:"node,omitzero"`
	Container string `json:"container,omitzero"`
}

// StepOfGroup is what a group waits for.
type StepOfGroup string

// The steps of an attempt.
const (
	StepHeard  StepOfGroup = "heard"  // all take part in the attempt
	StepEnded  StepOfGroup = "ended"  // nothing of an earlier attempt runs anywhere
	StepLifted StepOfGroup = "lifted" // a member has heard that all are there
	StepTold   StepOfGroup = "told"   // all have
	StepRuns   StepOfGroup = "runs"   // all regular containers have started
)

// GroupMember is how one member is.
type GroupMember struct {
	Pod  string `json:"pod"` // its name
	Node string `json:"node,omitzero"`
	// Attempt is the newest that it takes part in; nil: in none.
	Attempt *int32 `json:"attempt,omitzero"`
	// Since says when it came to each step of the group's newest attempt.
	Since map[StepOfGroup]time.Time `json:"since,omitzero"`
	// Standing is how it is, if it does not run in the newest attempt.
	Standing string `json:"standing,omitzero"`

	lastToEnd string // the container
	failed    bool   // the attempt is because of it
	because   string
	over      bool // its phase is terminal
}

// ExplainGroup tells of a group from the records of its members. Members that are gone are left out;
// it is nil if no pod of the group is left.
func ExplainGroup(name string, records []*journal.Record, now time.Time) *Group {
	g := &Group{Name: name, At: now}
	var members []*teller
	for _, r := range records {
		if t := newTeller(r, now); !t.over() {
			members = append(members, t)
		}
	}
	if len(members) == 0 {
		return nil
	}
	slices.SortFunc(members, func(a, b *teller) int { return cmp.Compare(a.Pod.Name, b.Pod.Name) })
	for _, t := range members {
		m := GroupMember{Pod: t.Pod.Name, Node: t.Pod.Node, over: t.Now != nil && lifecycle.Terminal(phaseOf(t.Now.Phase))}
		if attempt, found := t.newestAttempt(); found {
			m.Attempt = &attempt
			if g.Attempt == nil || *g.Attempt < attempt {
				g.Attempt = &attempt
			}
		}
		g.Members = append(g.Members, m)
	}
	for i, t := range members {
		m := &g.Members[i]
		if g.Attempt != nil && m.Attempt != nil && *m.Attempt == *g.Attempt {
			t.throughAttempt(m)
		}
		if m.Since[StepRuns].IsZero() && !m.over {
			m.Standing = plain.Line(t.cause())
		}
	}
	g.tellBeginning()
	g.tellSteps()
	g.Standing = plain.Line(g.standing())
	return g
}

// attemptOf is the attempt of its group that an entry is about.
func attemptOf(e *journal.Entry) (attempt int32, found bool) {
	if e.Kind != journal.Decided {
		return 0, false
	}
	n, err := strconv.ParseInt(e.Detail[journal.DetailAttempt], 10, 32)
	return int32(n), err == nil
}

// lifts says that a decision starts what has waited for the group.
func lifts(e *journal.Entry) bool { return e.Rule == "B-GRP-5" }

// newestAttempt is the newest attempt that the pod takes part in.
func (t *teller) newestAttempt() (attempt int32, found bool) {
	for i := len(t.Entries) - 1; i >= 0; i-- {
		if attempt, found = attemptOf(&t.Entries[i]); found {
			return attempt, true
		}
	}
	return 0, false
}

// throughAttempt files when a member came to each step of its newest attempt.
func (t *teller) throughAttempt(m *GroupMember) {
	p := passage{teller: t, member: m, since: map[StepOfGroup]time.Time{}, waiting: map[string]bool{}}
	for i := range t.Entries {
		e := &t.Entries[i]
		switch attempt, about := attemptOf(e); {
		case !about:
			p.goesOn(e)
		case attempt == *m.Attempt && lifts(e):
			p.isLifted(e)
		case attempt == *m.Attempt:
			p.begins(e)
		}
	}
	m.Since = p.since
}

// passage is a member's way through an attempt, entry by entry.
type passage struct {
	*teller
	member  *GroupMember
	since   map[StepOfGroup]time.Time
	ending  bool            // what ran in the attempt before
	waiting map[string]bool // containers that are still to start
}

func (p *passage) begins(e *journal.Entry) {
	at, because := p.outset(e)
	clear(p.since)
	p.since[StepHeard], p.since[StepEnded] = e.At, e.At
	m := p.member
	m.failed, m.because, m.lastToEnd, p.ending = e.Rule == "B-GRP-6", because, "", true
	if m.failed {
		p.since[StepHeard] = at
	}
}

func (p *passage) isLifted(e *journal.Entry) {
	p.since[StepLifted], p.ending = e.At, false
	for _, c := range p.Pod.Containers {
		if c.Kind == "container" {
			p.waiting[c.Name] = true
		}
	}
}

// goesOn is about an end of what ran before, or a start in the attempt.
func (p *passage) goesOn(e *journal.Entry) {
	switch {
	case p.ending && e.Kind == journal.Fact && e.Exit != nil:
		p.since[StepEnded], p.member.lastToEnd = e.At, e.Container
	case p.ending && e.Kind == journal.Begun && e.Name == "CreateContainer":
		p.ending = false
	case p.waiting[e.Container] && e.Kind == journal.Answered && e.Name == "StartContainer" && e.Failure == nil:
		delete(p.waiting, e.Container)
		if len(p.waiting) == 0 {
			p.since[StepRuns] = e.At
		}
	}
}

// outset is when and why a member takes part in an attempt: at the exit that led to it, if one did.
func (t *teller) outset(e *journal.Entry) (at time.Time, because string) {
	if i, found := t.byID[e.Cause]; found {
		if exit := t.Entries[i].Exit; exit != nil && !exit.FinishedAt.IsZero() && exit.FinishedAt.Before(e.At) {
			return exit.FinishedAt, e.Because
		}
	}
	return e.At, e.Because
}

// cause is why a pod is as it is, in one sentence.
func (t *teller) cause() string {
	e := Explain(t.Record, t.now)
	for _, s := range e.Sentences {
		if s.Wait != nil && s.Wait.For == lifecycle.WaitGroup {
			return "at the barrier" + ifSome(": ", bare(s.Wait.Because)) + "."
		}
		if s.Kind == KindWait || s.Kind == KindUnled || s.Kind == KindEnd {
			return s.Text
		}
	}
	return strings.TrimPrefix(e.Standing, plain.Line(t.Pod.Namespace+"/"+t.Pod.Name)+" ")
}

func (g *Group) tellBeginning() {
	for i := range g.Members {
		if m := &g.Members[i]; m.failed {
			g.Began = append(g.Began, GroupBeginning{Pod: m.Pod, Node: m.Node, At: m.Since[StepHeard], Because: m.because})
		}
	}
	slices.SortStableFunc(g.Began, func(a, b GroupBeginning) int { return a.At.Compare(b.At) })
}

// outset is when the attempt began: with the first failure, or else with the first member that takes part.
func (g *Group) outset() (at time.Time) {
	if len(g.Began) > 0 {
		return g.Began[0].At
	}
	for _, m := range g.Members {
		if heard := m.Since[StepHeard]; !heard.IsZero() && (at.IsZero() || heard.Before(at)) {
			at = heard
		}
	}
	return at
}

// tellSteps says where the time went: of each step that all members have come to, which was the last.
func (g *Group) tellSteps() {
	before := g.outset()
	if before.IsZero() {
		return
	}
	for _, what := range []StepOfGroup{StepHeard, StepEnded, StepLifted, StepTold, StepRuns} {
		at, m := g.lastTo(what)
		if m == nil {
			return
		}
		step := GroupStep{What: what, Took: max(0, at.Sub(before)), Last: m.Pod, Node: m.Node}
		step.Seconds = step.Took.Seconds()
		if what == StepEnded {
			step.Container = m.lastToEnd
		}
		g.Steps = append(g.Steps, step)
		if at.After(before) {
			before = at
		}
	}
}

// lastTo is the member that came to a step as the last, and when; nil: not all have come to it. A barrier is
// lifted as soon as the first member hears of it.
func (g *Group) lastTo(what StepOfGroup) (at time.Time, last *GroupMember) {
	key := what
	if what == StepTold {
		key = StepLifted
	}
	for i := range g.Members {
		m := &g.Members[i]
		came := m.Since[key]
		switch {
		case m.over: // it waits for nobody any more, and nobody for it
		case what == StepLifted:
			if !came.IsZero() && (last == nil || came.Before(at)) {
				at, last = came, m
			}
		case came.IsZero():
			return at, nil
		case last == nil || came.After(at):
			at, last = came, m
		}
	}
	return at, last
}

// Took is how long the newest attempt took from its beginning until all ran; 0: not all run yet.
func (g *Group) Took() (took time.Duration) {
	if n := len(g.Steps); n == 0 || g.Steps[n-1].What != StepRuns {
		return 0
	}
	for _, s := range g.Steps {
		took += s.Took
	}
	return took
}

func (g *Group) standing() string {
	n := len(g.Members)
	members := fmt.Sprintf("The group %s has %d %s", g.Name, n, plural(make([]string, n), "member", "members"))
	if g.Attempt == nil {
		return members + ", and none takes part in an attempt."
	}
	runs := 0
	for _, m := range g.Members {
		if !m.Since[StepRuns].IsZero() || m.over {
			runs++
		}
	}
	t := teller{now: g.At}
	began := fmt.Sprintf("; attempt %d began at %s", *g.Attempt, t.clock(g.outset()))
	if runs < n {
		return fmt.Sprintf("%s%s, and %d of %d %s in it.", members, began, runs, n, plural(make([]string, runs), "runs", "run"))
	}
	return members + began + ifSome(", and all ran after ", ifPositive(g.Took())) + "."
}

// ifPositive is a duration to the millisecond; empty if it is none.
func ifPositive(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return short(d)
}

// short is a duration of a step: 12 ms, 1.94 s, 2 min 5 s.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return span(d)
}
