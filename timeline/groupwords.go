package timeline

import (
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Title is what the chart is of: the pod as namespace/name, or the group.
func (c *Chart) Title() string {
	if c.Group != nil {
		return c.Language.Say("group %s", c.Pod.FullName())
	}
	return c.Pod.FullName()
}

// Headline is how many members a group has, and how far it is.
func (c *Chart) Headline() string {
	l := c.Language
	text := c.Title() + l.Word(": ") + l.Count(c.Group.Members, "member")
	switch n := len(c.Group.Attempts); {
	case n == 0:
		text += l.Word(", and none has taken part in an attempt")
	case c.Group.Attempts[n-1].Done().IsZero() && !c.Gone:
		text += l.Say(", attempt %d has not begun for all", c.Group.Attempts[n-1].Attempt)
	default:
		text += l.Say(", attempt %d", c.Group.Attempts[n-1].Attempt)
	}
	if c.Group.Earlier > 0 {
		text += l.Say("; %s before are left out", l.Count(c.Group.Earlier, "attempt"))
	}
	return plain.Line(text)
}

// AttemptText is how an attempt of the chart went, in a line: when it began, by whom, and when all ran.
func (c *Chart) AttemptText(r *journal.GroupAttempt) string {
	l := c.Language
	text := l.Say("attempt %d at +%s", r.Attempt, Took(r.At.Sub(c.Begin)))
	var began []string
	for _, m := range r.Began {
		one := m.Pod
		if m.Node != "" {
			one = l.Say("%s on %s", one, m.Node)
		}
		if because := m.Reason.In(l.Say); because != "" {
			one += l.Say(" (%s)", because)
		}
		began = append(began, one)
	}
	if len(began) > 0 {
		text += l.Say(", begun by %s", strings.Join(began, l.Word(", then by ")))
	}
	if r.Done().IsZero() {
		return plain.Line(text + l.Word(": not all ran in it"))
	}
	return plain.Line(text + l.Say(": all run after %s", Took(r.Took())))
}

// StepText is what the group waited for in a step, and who was the last.
func StepText(l sentence.Language, s *journal.Step) string {
	return plain.Line(l.Word(string(stepOf(s.What))) + l.Word(", ") + lastText(l, s))
}
