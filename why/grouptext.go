package why

import (
	"fmt"
	"io"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
)

// WriteGroup writes how a group is: who began its newest attempt, where the time went, and which members do
// not run in it.
func (l Layout) WriteGroup(out io.Writer, g *Group) error {
	var b strings.Builder
	b.WriteString(wrap(g.Standing, l.Width, ""))
	line := func(text string) { b.WriteString(wrap("- "+plain.Line(text), l.Width, "  ")) }
	for i, began := range g.Began {
		what := "It began with "
		if i > 0 {
			what = "Then failed, " + short(began.At.Sub(g.Began[0].At)) + " later, "
		}
		line(what + onNode(began.Pod, began.Node) + ifSome(": ", bare(began.Because)) + ".")
	}
	if len(g.Began) == 0 && g.Attempt != nil {
		line("No member that is still there failed for it.")
	}
	for _, s := range g.Steps {
		line(stepText(&s))
	}
	members := map[string][]string{}
	var order []string
	for _, m := range g.Members {
		if m.Standing == "" {
			continue
		}
		text := m.Standing
		if m.Attempt != nil && g.Attempt != nil && *m.Attempt < *g.Attempt {
			text = fmt.Sprintf("still in attempt %d, %s", *m.Attempt, text)
		}
		if members[text] == nil {
			order = append(order, text)
		}
		members[text] = append(members[text], onNode(m.Pod, m.Node))
	}
	for _, text := range order {
		line(list(members[text]) + ": " + text)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// stepText is a step of a group in words.
func stepText(s *journal.Step) string {
	last := onNode(s.Last, s.Node)
	switch s.What {
	case journal.Heard:
		return fmt.Sprintf("%s until all took part in it; the last was %s.", short(s.Took), last)
	case journal.Ended:
		if s.Container == "" {
			return short(s.Took) + " until nothing of the attempt before ran any more."
		}
		return fmt.Sprintf("%s until nothing of the attempt before ran any more; the last was %s of %s.", short(s.Took), s.Container, last)
	case journal.Lifted:
		return fmt.Sprintf("%s until the barrier was lifted: statuses written, counted, and told; the first to hear was %s.", short(s.Took), last)
	case journal.LiftedForAll:
		return fmt.Sprintf("%s until all had heard of it; the last was %s.", short(s.Took), last)
	case journal.Runs:
	}
	return fmt.Sprintf("%s until all ran; the last was %s.", short(s.Took), last)
}

func onNode(pod, node string) string { return pod + ifSome(" on ", node) }
