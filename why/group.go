package why

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
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
	Began []journal.Beginning `json:"began,omitzero"`
	// Steps are where the time went until all ran: what the group waited for, one after the other,
	// as far as it has come.
	Steps   []journal.Step `json:"steps,omitzero"`
	Members []GroupMember  `json:"members"` // by name
}

// GroupMember is how one member is.
type GroupMember struct {
	Pod  string `json:"pod"` // its name
	Node string `json:"node,omitzero"`
	// Attempt is the newest that it takes part in; nil: in none.
	Attempt *int32 `json:"attempt,omitzero"`
	// Since says when it came to each step of the group's newest attempt.
	Since map[journal.What]time.Time `json:"since,omitzero"`
	// Standing is how it is, if it does not run in the newest attempt.
	Standing string `json:"standing,omitzero"`

	over bool // its phase is terminal
}

// ExplainGroup tells of a group from the records of its members. Members that are gone are left out;
// it is nil if no pod of the group is left.
func ExplainGroup(name string, records []*journal.Record, now time.Time, language sentence.Language) *Group {
	g := &Group{Name: name, At: now}
	var members []*explainer
	for _, r := range records {
		if t := newExplainer(r, now, language); !t.over() {
			members = append(members, t)
		}
	}
	if len(members) == 0 {
		return nil
	}
	slices.SortFunc(members, func(a, b *explainer) int { return cmp.Compare(a.Pod.Name, b.Pod.Name) })
	var ways []journal.Member
	for _, t := range members {
		way := journal.MemberOf(t.Record)
		m := GroupMember{Pod: t.Pod.Name, Node: t.Pod.Node, over: way.Over}
		if p := way.Newest(); p != nil {
			m.Attempt = &p.Attempt
			if g.Attempt == nil || *g.Attempt < p.Attempt {
				g.Attempt = &p.Attempt
			}
		}
		g.Members, ways = append(g.Members, m), append(ways, way)
	}
	for i, t := range members {
		m := &g.Members[i]
		if g.Attempt != nil && m.Attempt != nil && *m.Attempt == *g.Attempt {
			m.Since = ways[i].Newest().Since
		}
		if m.Since[journal.Runs].IsZero() && !m.over {
			m.Standing = plain.Line(t.cause())
		}
	}
	var newest journal.GroupAttempt
	if all := journal.GroupAttempts(ways); len(all) > 0 {
		newest = all[len(all)-1]
	}
	g.Began, g.Steps = newest.Began, newest.Steps
	g.Standing = plain.Line(g.standing(&newest, language))
	return g
}

// cause is why a pod is as it is, in one sentence.
func (t *explainer) cause() string {
	e := Explain(t.Record, t.now, t.Language)
	for _, s := range e.Sentences {
		if s.Wait != nil && s.Wait.For == lifecycle.WaitGroup {
			return t.Word("at the barrier") + t.ifSome(": %s", t.groupWait(s.Wait)) + t.Word(".")
		}
		if s.Kind == KindWait || s.Kind == KindUnled || s.Kind == KindEnd {
			return s.Text
		}
	}
	return strings.TrimPrefix(e.Standing, plain.Line(t.Pod.Namespace+"/"+t.Pod.Name)+" ")
}

func (g *Group) standing(newest *journal.GroupAttempt, language sentence.Language) string {
	t := explainer{words: words{language}, now: g.At}
	n := len(g.Members)
	members := t.Say("The group %s has %s", g.Name, t.Count(n, "member"))
	if g.Attempt == nil {
		return members + t.Word(", and none takes part in an attempt.")
	}
	runs := 0
	for _, m := range g.Members {
		if !m.Since[journal.Runs].IsZero() || m.over {
			runs++
		}
	}
	began := t.Say("; attempt %d began at %s", *g.Attempt, t.clock(newest.At))
	if runs < n {
		return members + began + t.Say(plural(make([]string, runs), ", and %d of %d runs in it.", ", and %d of %d run in it."), runs, n)
	}
	return members + began + t.ifSome(", and all ran after %s", t.ifPositive(newest.Took())) + t.Word(".")
}

// ifPositive is a duration to the millisecond; empty if it is none.
func (w words) ifPositive(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return w.short(d)
}

// short is a duration of a step: 12 ms, 1.94 s, 2 min 5 s.
func (w words) short(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " " + w.Word("ms")
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " " + w.Word("s")
	}
	return w.span(d)
}
