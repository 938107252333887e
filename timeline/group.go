package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Group is what a chart has of a group whose pods restart as one (B-GRP): one row says what it waits for, and each
// member has one.
type Group struct {
	Members int `json:"members"`
	// Attempts are its newest attempts, oldest first; Earlier is how many before them are left out.
	Attempts []journal.GroupAttempt `json:"rounds"`
	Earlier  int                    `json:"earlierAttempts,omitzero"`
}

// NameOf is a group's name as charts have it: the one that its chart has for the name of a pod.
func NameOf(namespace, name string) Pod { return Pod{Namespace: namespace, Name: name} }

// OfGroup is the chart of the newest attempts of a group, so many; 0: of all. Of pods of former groups of the same name
// nothing is shown. Without a member that takes part in an attempt there is no row of attempts.
func OfGroup(name Pod, records []*journal.Record, now time.Time, most int, language sentence.Language) *Chart {
	g := &groupBuilder{chart: &Chart{Language: language, Pod: name, Group: &Group{}, Gone: true}}
	var members []journal.Member
	for _, r := range journal.NewestGroup(records, now) {
		m := journal.MemberOf(r)
		if m.Over && len(m.Passages) == 0 {
			continue // such as one that was rejected
		}
		members, g.lives = append(members, m), append(g.lives, In(language, r, now))
	}
	all := journal.GroupAttempts(members)
	shown := all
	if most > 0 && len(all) > most {
		shown = all[len(all)-most:]
	}
	g.chart.Group.Members, g.chart.Group.Attempts, g.chart.Group.Earlier = len(members), shown, len(all)-len(shown)
	g.extent(now)
	g.attempts()
	g.members(members)
	g.path()
	return g.chart
}

// groupBuilder makes the chart of a group.
type groupBuilder struct {
	chart *Chart
	lives []*Chart // of the members
}

// extent says from when to when the chart reaches: from the first attempt that is shown until the last member was gone.
func (g *groupBuilder) extent(now time.Time) {
	c, first := g.chart, g.chart.Group.Attempts
	c.Begin = now
	for _, life := range g.lives {
		c.Begin, c.End, c.Gone = earlier(c.Begin, life.Begin), later(c.End, life.End), c.Gone && life.Gone
	}
	if len(first) > 0 {
		c.Begin = first[0].At
	}
	c.End = later(c.Begin, c.End)
}

// stepOf is what a group's time is spent on until all members have come to a step.
func stepOf(what journal.What) Step {
	switch what {
	case journal.Heard:
		return AllHear
	case journal.Ended:
		return AllEnd
	case journal.Lifted:
		return Lift
	case journal.LiftedForAll:
		return AllHearLift
	case journal.Runs:
	}
	return AllStart
}

// attempts adds the row of what the group waits for. What it waited for in vain lasts until the next attempt.
func (g *groupBuilder) attempts() {
	c := g.chart
	row := Row{Kind: AttemptsRow, Name: string(AttemptsRow)}
	for i := range c.Group.Attempts {
		r := &c.Group.Attempts[i]
		end, open := c.End, !c.Gone
		if i+1 < len(c.Group.Attempts) {
			end, open = later(r.At, c.Group.Attempts[i+1].At), false
		}
		at := r.At
		for _, s := range r.Steps {
			b := g.bar(r.Attempt, stepOf(s.What), at, s.At)
			b.Notes = []Note{{Text: lastText(c.Language, &s)}}
			row.add(b)
			at = s.At
		}
		step := AllRun
		if r.Done().IsZero() {
			steps := []journal.What{journal.Heard, journal.Ended, journal.Lifted, journal.LiftedForAll, journal.Runs}
			step = stepOf(steps[len(r.Steps)])
		} else if first := g.firstEnd(at); first.Before(end) {
			end, open = first, false
		}
		b := g.bar(r.Attempt, step, at, end)
		b.Open = open
		row.add(b)
		for _, m := range r.Began {
			row.Marks = append(row.Marks, Mark{At: m.At, Name: c.Language.Say("%s began attempt %d", m.Pod, r.Attempt), Text: m.Reason.In(c.Language.Say), Rule: "B-GRP-6"})
		}
	}
	if len(c.Group.Attempts) > 0 {
		c.Rows = append(c.Rows, row)
	}
}

// firstEnd is when the first member ends after a time; the chart's end, if none does.
func (g *groupBuilder) firstEnd(after time.Time) time.Time {
	first := g.chart.End
	for _, life := range g.lives {
		if ending, _ := endingOf(life); ending.After(after) {
			first = earlier(first, ending)
		}
	}
	return first
}

func (g *groupBuilder) bar(attempt int32, step Step, begin, end time.Time) Bar {
	return Bar{Step: step, Label: g.chart.Language.Say("attempt %d: %s", attempt, g.chart.Language.Word(string(step))), Begin: begin, End: end}
}

// add adds a bar, if it has a length, or goes on.
func (r *Row) add(b Bar) {
	if b.End.After(b.Begin) || b.Open {
		r.Bars = append(r.Bars, b)
	}
}

// lastText is who was the last to come to a step.
func lastText(l sentence.Language, s *journal.Step) string {
	last := s.Last
	if s.Node != "" {
		last = l.Say("%s on %s", last, s.Node)
	}
	switch {
	case s.What == journal.Lifted:
		return l.Say("the first to hear: %s", last)
	case s.Container != "":
		return l.Say("the last: %s", l.Say("%s of %s", s.Container, last))
	}
	return l.Say("the last: %s", last)
}

// members adds a row for each member.
func (g *groupBuilder) members(members []journal.Member) {
	var list []Row
	for i := range members {
		list = append(list, g.member(&members[i], g.lives[i]))
	}
	slices.SortStableFunc(list, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	g.chart.Rows = append(g.chart.Rows, list...)
}

func (g *groupBuilder) member(m *journal.Member, life *Chart) Row {
	row := Row{Kind: MemberRow, Name: m.Pod}
	ending, gone := endingOf(life)
	for i := range m.Passages {
		p := &m.Passages[i]
		end, open := ending, ending.Equal(life.End) && !life.Gone
		if i+1 < len(m.Passages) {
			end, open = m.Passages[i+1].Since[journal.Heard], false
		}
		at := p.Since[journal.Heard]
		until := func(step Step, what journal.What) {
			next := p.Since[what]
			if next.IsZero() || next.After(end) || next.Before(at) {
				return
			}
			row.within(g.chart, g.bar(p.Attempt, step, at, next))
			at = next
		}
		until(Stopping, journal.Ended)
		until(AtBarrier, journal.Lifted)
		until(Start, journal.Runs)
		last := g.bar(p.Attempt, InAttempt, at, end)
		switch {
		case p.Since[journal.Lifted].IsZero():
			last = g.bar(p.Attempt, AtBarrier, at, end)
		case p.Since[journal.Runs].IsZero():
			last = g.bar(p.Attempt, Start, at, end)
		}
		last.Open = open
		row.within(g.chart, last)
		if p.Failed && !p.Since[journal.Heard].Before(g.chart.Begin) {
			row.Marks = append(row.Marks, Mark{
				At: p.Since[journal.Heard], Name: g.chart.Language.Say("began attempt %d", p.Attempt), Text: p.Because.In(g.chart.Language.Say), Rule: "B-GRP-6", Failed: true,
			})
		}
	}
	row.within(g.chart, Bar{Step: Ending, Label: g.chart.Language.Word(string(Ending)), Begin: ending, End: gone, Open: gone.Equal(life.End) && !life.Gone && gone.After(ending)})
	return row
}

// within adds what of a bar lies in the chart.
func (r *Row) within(c *Chart, b Bar) {
	b.Label = r.Name + c.Language.Word(", ") + b.Label
	b.Begin, b.End = later(c.Begin, b.Begin), earlier(c.End, b.End)
	r.add(b)
}

// endingOf is when a pod's end began, and when the pod was gone; both are the end of its chart if nothing ends it.
func endingOf(life *Chart) (ending, gone time.Time) {
	for _, r := range life.Rows {
		for _, b := range r.Bars {
			if r.Kind == PodRow && b.Step == Ending {
				return b.Begin, b.End
			}
		}
	}
	return life.End, life.End
}

// path is that of the newest attempt: what all had to wait for, and whose bar it is.
func (g *groupBuilder) path() {
	c := g.chart
	c.Path = Path{To: "now", At: c.End}
	if c.Gone {
		c.Path.To = "its end"
	}
	n := len(c.Group.Attempts)
	if n == 0 {
		return
	}
	r := &c.Group.Attempts[n-1]
	if done := r.Done(); !done.IsZero() {
		c.Path.To, c.Path.At = string(AllRun), done
	}
	row := &c.Rows[0]
	for i := range row.Bars {
		b := &row.Bars[i]
		if b.Begin.Before(r.At) || !b.End.After(b.Begin) || b.End.After(c.Path.At) {
			continue
		}
		label := c.Language.Word(string(b.Step))
		if len(b.Notes) > 0 {
			label += c.Language.Say(" (%s)", b.Notes[0].Text)
		}
		c.Path.Pieces = append(c.Path.Pieces, Piece{Step: b.Step, Label: label, Begin: b.Begin, End: b.End})
		c.Path.Shares = append(c.Path.Shares, Share{Label: label, Took: b.Duration()})
		g.critical(r, b)
	}
	for i := range c.Path.Shares {
		c.Path.Shares[i].Percent = percent(c.Path.Shares[i].Took, c.Path.Duration())
	}
	slices.SortStableFunc(c.Path.Shares, func(x, y Share) int { return cmp.Compare(y.Took, x.Took) })
}

// critical marks the bar that a step is spent on: that of the member that ends or starts last, else that of all.
func (g *groupBuilder) critical(r *journal.GroupAttempt, of *Bar) {
	want := map[Step]Step{AllEnd: Stopping, AllStart: Start}[of.Step]
	for _, s := range r.Steps {
		if stepOf(s.What) != of.Step || want == "" {
			continue
		}
		for i := range g.chart.Rows {
			row := &g.chart.Rows[i]
			for j := range row.Bars {
				if b := &row.Bars[j]; row.Kind == MemberRow && row.Name == s.Last && b.Step == want && b.End.Equal(s.At) {
					b.Critical = true
					return
				}
			}
		}
	}
	of.Critical = true
}
