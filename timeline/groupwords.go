package timeline

import (
	"fmt"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
)

// Title is what the chart is of: the pod as namespace/name, or the group.
func (c *Chart) Title() string {
	if c.Group != nil {
		return "group " + c.Pod.FullName()
	}
	return c.Pod.FullName()
}

// Headline is how many members a group has, and how far it is.
func (c *Chart) Headline() string {
	text := fmt.Sprintf("%s: %s", c.Title(), plain.Count(c.Group.Members, "member"))
	switch n := len(c.Group.Attempts); {
	case n == 0:
		text += ", and none has taken part in an attempt"
	case c.Group.Attempts[n-1].Done().IsZero() && !c.Gone:
		text += fmt.Sprintf(", attempt %d has not begun for all", c.Group.Attempts[n-1].Attempt)
	default:
		text += fmt.Sprintf(", attempt %d", c.Group.Attempts[n-1].Attempt)
	}
	if c.Group.Earlier > 0 {
		text += fmt.Sprintf("; %s before are left out", plain.Count(c.Group.Earlier, "attempt"))
	}
	return Line(text)
}

// AttemptText is how an attempt of the chart went, in a line: when it began, by whom, and when all ran.
func (c *Chart) AttemptText(r *journal.GroupAttempt) string {
	text := fmt.Sprintf("attempt %d at +%s", r.Attempt, Took(r.At.Sub(c.Begin)))
	var began []string
	for _, m := range r.Began {
		one := m.Pod
		if m.Node != "" {
			one += " on " + m.Node
		}
		if m.Because != "" {
			one += " (" + m.Because + ")"
		}
		began = append(began, one)
	}
	if len(began) > 0 {
		text += ", begun by " + strings.Join(began, ", then by ")
	}
	if r.Done().IsZero() {
		return Line(text + ": not all ran in it")
	}
	return Line(text + ": all run after " + Took(r.Took()))
}

// StepText is what the group waited for in a step, and who was the last.
func StepText(s *journal.Step) string { return Line(string(stepOf(s.What)) + ", " + lastText(s)) }
