package draw

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifepod/lifepod/timeline"
)

// group draws a group: what it waits for, a row for each member, and how each attempt went.
func (p *page) group(c *timeline.Chart) {
	var labels []string
	for _, r := range c.Rows {
		labels = append(labels, name(p.language, &r))
	}
	p.fit(labels)
	p.wrapped(c.Headline(), "  ")
	p.wrapped(p.language.Say("since %s UTC", c.Begin.UTC().Format(time.DateTime)), "  ")
	p.line("")
	p.ticks()
	for i := range c.Rows {
		p.row(labels[i], &c.Rows[i], timeline.Took(waited(&c.Rows[i])))
	}
	for i := range c.Group.Attempts {
		r := &c.Group.Attempts[i]
		p.line("")
		p.wrapped(c.AttemptText(r), "  ")
		for j := range r.Steps {
			s := &r.Steps[j]
			if s.Took == 0 {
				continue
			}
			p.wrapped(fmt.Sprintf("  %7s  %s", timeline.Took(s.Took), timeline.StepText(p.language, s)), strings.Repeat(" ", 11))
		}
	}
	p.line("")
	p.wrapped(p.language.Word("█░ what all wait for  ▄ starts  ━ runs  · waits  ╌ ends  × failed"), "  ")
}

// waited is how long a member, or one of all, did not run.
func waited(r *timeline.Row) (d time.Duration) {
	for _, b := range r.Bars {
		if b.Step != timeline.InAttempt && b.Step != timeline.AllRun {
			d += b.Duration()
		}
	}
	return d
}
