package why

import (
	"io"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
)

// WriteGroup writes how a group is: who began its newest attempt, where the time went, and which members do
// not run in it.
func (l Layout) WriteGroup(out io.Writer, g *Group) error {
	var b strings.Builder
	w := words{l.Language}
	b.WriteString(wrap(g.Standing, l.Width, ""))
	line := func(text string) { b.WriteString(wrap("- "+plain.Line(text), l.Width, "  ")) }
	for i, began := range g.Began {
		member := w.onNode(began.Pod, began.Node) + w.ifSome(": %s", bare(began.Reason.In(w.Say)))
		if i > 0 {
			line(w.Say("Then failed, %s later, %s.", w.short(began.At.Sub(g.Began[0].At)), member))
		} else {
			line(w.Say("It began with %s.", member))
		}
	}
	if len(g.Began) == 0 && g.Attempt != nil {
		line(w.Word("No member that is still there failed for it."))
	}
	for _, s := range g.Steps {
		line(w.stepText(&s))
	}
	members := map[string][]string{}
	var order []string
	for _, m := range g.Members {
		if m.Standing == "" {
			continue
		}
		text := m.Standing
		if m.Attempt != nil && g.Attempt != nil && *m.Attempt < *g.Attempt {
			text = w.Say("still in attempt %d, %s", *m.Attempt, text)
		}
		if members[text] == nil {
			order = append(order, text)
		}
		members[text] = append(members[text], w.onNode(m.Pod, m.Node))
	}
	for _, text := range order {
		line(w.list(members[text]) + w.ifSome(": %s", text))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// stepText is a step of a group in words.
func (w words) stepText(s *journal.Step) string {
	last := w.onNode(s.Last, s.Node)
	switch s.What {
	case journal.Heard:
		return w.Say("%s until all took part in it; the last was %s.", w.short(s.Took), last)
	case journal.Ended:
		if s.Container == "" {
			return w.Say("%s until nothing of the attempt before ran any more.", w.short(s.Took))
		}
		return w.Say("%s until nothing of the attempt before ran any more; the last was %s of %s.", w.short(s.Took), s.Container, last)
	case journal.Lifted:
		return w.Say("%s until the barrier was lifted: statuses written, counted, and told; the first to hear was %s.", w.short(s.Took), last)
	case journal.LiftedForAll:
		return w.Say("%s until all had heard of it; the last was %s.", w.short(s.Took), last)
	case journal.Runs:
	}
	return w.Say("%s until all ran; the last was %s.", w.short(s.Took), last)
}

func (w words) onNode(pod, node string) string {
	if node == "" {
		return pod
	}
	return w.Say("%s on %s", pod, node)
}
