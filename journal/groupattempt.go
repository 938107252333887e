package journal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Member is a pod of a group.
type Member struct {
	Pod, Node string // their names
	Passages  []Passage
	// Over says that its phase is terminal, or that it is gone: it waits for nobody any more, and nobody for it.
	Over bool
}

// MemberOf is the member that a record is of.
func MemberOf(r *Record) Member {
	m := Member{Pod: r.Pod.Name, Node: r.Pod.Node, Passages: Passages(r)}
	if r.Now != nil {
		m.Over = r.Now.Stage == lifecycle.Gone.String() || lifecycle.Terminal(v1.PodPhase(r.Now.Phase))
	}
	return m
}

// Newest is the passage that the member is in; nil: it takes part in no attempt.
func (m *Member) Newest() *Passage {
	if len(m.Passages) == 0 {
		return nil
	}
	return &m.Passages[len(m.Passages)-1]
}

// In is the member's passage through an attempt; nil: it took no part.
func (m *Member) In(attempt int32) *Passage {
	for i := range m.Passages {
		if m.Passages[i].Attempt == attempt {
			return &m.Passages[i]
		}
	}
	return nil
}

// GroupAttempt is an attempt of a group.
type GroupAttempt struct {
	Attempt int32 `json:"attempt"`
	// At is when it began: with the first failure, or else with the first member that took part.
	At time.Time `json:"at"`
	// Began are the members that failed, and that the attempt began with, the first one first; none: it
	// began without a failure, as the first one does, or the member is not known any more.
	Began []Beginning `json:"began,omitzero"`
	// Steps are where the time went until all ran: what the group waited for, one after the other, as far
	// as it came.
	Steps []Step `json:"steps,omitzero"`
}

// Beginning is a member's failure that the group restarts for.
type Beginning struct {
	Pod     string            `json:"pod"`
	Node    string            `json:"node,omitzero"`
	At      time.Time         `json:"at"`      // of the exit, if it was one
	Because string            `json:"because"` // Reason in English
	Reason  lifecycle.Because `json:"-"`
}

// Step is something that a group waits for until the last member has done it.
type Step struct {
	What What `json:"what"`
	// Took is how long after the step before; Seconds is the same for programs. At is when it was done.
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	At      time.Time     `json:"at"`
	// Last is the member that the others waited for; of a lifted barrier it is the first that
	// knew. Container is the one that ended last.
	Last      string `json:"last"`
	Node      string `json:"node,omitzero"`
	Container string `json:"container,omitzero"`
}

// GroupAttempts are the attempts that members took part in, oldest first.
func GroupAttempts(members []Member) (list []GroupAttempt) {
	attempts := map[int32]bool{}
	for _, m := range members {
		for _, p := range m.Passages {
			attempts[p.Attempt] = true
		}
	}
	order := slices.Sorted(maps.Keys(attempts))
	for i, attempt := range order {
		list = append(list, groupAttemptOf(attempt, members, i == len(order)-1))
	}
	return list
}

// Done is when all ran; zero: they did not, or do not yet.
func (r *GroupAttempt) Done() time.Time {
	if n := len(r.Steps); n > 0 && r.Steps[n-1].What == Runs {
		return r.Steps[n-1].At
	}
	return time.Time{}
}

// Took is how long it took from its beginning until all ran; 0: they did not, or do not yet.
func (r *GroupAttempt) Took() (took time.Duration) {
	if r.Done().IsZero() {
		return 0
	}
	for _, s := range r.Steps {
		took += s.Took
	}
	return took
}

// stand is a member in an attempt; passage is nil if it has not come to it.
type stand struct {
	*Member
	passage *Passage
}

// groupAttemptOf tells an attempt from the members that took part. The newest one also waits for those that do not yet.
func groupAttemptOf(attempt int32, members []Member, newest bool) GroupAttempt {
	r := GroupAttempt{Attempt: attempt}
	var all []stand
	for i := range members {
		m := &members[i]
		p := m.In(attempt)
		if p == nil && (!newest || m.Over) {
			continue
		}
		all = append(all, stand{m, p})
		switch {
		case p == nil:
		case p.Failed:
			r.Began = append(r.Began, Beginning{Pod: m.Pod, Node: m.Node, At: p.Since[Heard], Because: p.Because.String(), Reason: p.Because})
		case r.At.IsZero() || p.Since[Heard].Before(r.At):
			r.At = p.Since[Heard]
		}
	}
	slices.SortStableFunc(r.Began, func(a, b Beginning) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod, b.Pod)) })
	if len(r.Began) > 0 {
		r.At = r.Began[0].At
	}
	r.setSteps(all)
	return r
}

// setSteps says where the time went: of each step that all members have come to, which was the last.
func (r *GroupAttempt) setSteps(all []stand) {
	before := r.At
	for _, what := range []What{Heard, Ended, Lifted, LiftedForAll, Runs} {
		at, last := lastTo(what, all)
		if last == nil {
			return
		}
		at = slices.MaxFunc([]time.Time{before, at}, time.Time.Compare)
		step := Step{What: what, Took: at.Sub(before), At: at, Last: last.Pod, Node: last.Node}
		step.Seconds = step.Took.Seconds()
		if what == Ended {
			step.Container = last.passage.LastToEnd
		}
		r.Steps, before = append(r.Steps, step), at
	}
}

// lastTo returns the last member to come to a step, and when; nil: not all have come to it. A barrier is
// lifted as soon as the first member hears of it.
func lastTo(what What, all []stand) (at time.Time, last *stand) {
	key := what
	if what == LiftedForAll {
		key = Lifted
	}
	for i := range all {
		m := &all[i]
		var came time.Time
		if m.passage != nil {
			came = m.passage.Since[key]
		}
		switch {
		case what == Lifted:
			if !came.IsZero() && (last == nil || came.Before(at)) {
				at, last = came, m
			}
		case came.IsZero() && m.Over:
		case came.IsZero():
			return at, nil
		case last == nil || came.After(at):
			at, last = came, m
		}
	}
	return at, last
}
