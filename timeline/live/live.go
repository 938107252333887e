// Package live shows charts of pods while they live: on a terminal by drawing them again, elsewhere by a
// line for each thing that has happened.
package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/gantt"
)

// Screen is where to draw; nil: lines are written instead.
type Screen interface {
	// Size is how many columns and rows it has.
	Size() (columns, rows int)
}

// Follower shows pods until they are gone, or no lifepod leads them any more.
type Follower struct {
	// Look reads the charts anew; more: at least one of the pods still changes.
	Look   func() (charts []*timeline.Chart, more bool, err error)
	Out    io.Writer
	Screen Screen
	Colour bool
	Every  time.Duration // between two looks
}

// Run shows until the end, or that of ctx.
func (f *Follower) Run(ctx context.Context) error {
	ticker := time.NewTicker(f.Every)
	defer ticker.Stop()
	show := newLines(f.Out).show
	if f.Screen != nil {
		show = (&frames{f: f}).show
	}
	for {
		charts, more, err := f.Look()
		if err != nil {
			return err
		}
		if err := show(charts); err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// frames draws over what it has drawn before.
type frames struct {
	f       *Follower
	columns int // of the last frame
	lines   int
}

func (s *frames) show(charts []*timeline.Chart) error {
	columns, rows := s.f.Screen.Size()
	var text, out bytes.Buffer
	if err := gantt.Write(&text, charts, gantt.Options{Width: columns, Colour: s.f.Colour}); err != nil {
		return err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text.String(), "\n"), "\n")
	if rows > 1 && len(lines) > rows-1 {
		lines = lines[:rows-1]
	}
	switch {
	case s.lines == 0:
	case columns != s.columns: // where the old lines are now is not known
		out.WriteString("\x1b[2J\x1b[H")
	default:
		fmt.Fprintf(&out, "\x1b[%dA\r", s.lines)
	}
	for _, line := range lines {
		out.WriteString(strings.TrimSuffix(line, "\n") + "\x1b[K\n")
	}
	out.WriteString("\x1b[J")
	s.columns, s.lines = columns, len(lines)
	_, err := s.f.Out.Write(out.Bytes())
	return err
}

// lines writes what has not been written yet.
type lines struct {
	out     io.Writer
	written map[string]bool
}

func newLines(out io.Writer) *lines { return &lines{out, map[string]bool{}} }

// line is one thing that has happened, and what is known about it.
type line struct {
	at         time.Time
	text, more string
}

func (s *lines) show(charts []*timeline.Chart) error {
	var all []line
	for _, c := range charts {
		name := ""
		if len(charts) > 1 {
			name = timeline.Line(c.Pod.FullName()) + " "
		}
		for _, l := range of(c) {
			l.text = fmt.Sprintf("%s+%.3fs %s", name, l.at.Sub(c.Begin).Seconds(), l.text)
			if key := c.Pod.UID + l.text; !s.written[key] { // more may be known later
				s.written[key], all = true, append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y line) int { return x.at.Compare(y.at) })
	for _, l := range all {
		if _, err := io.WriteString(s.out, l.text+l.more+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// of are the lines of a chart: of each bar that has ended, and of each mark.
func of(c *timeline.Chart) (list []line) {
	for _, r := range c.Rows {
		for _, b := range r.Bars {
			if b.Open || r.Kind == timeline.PodRow && b.Step.Class() != timeline.Wait {
				continue
			}
			text := b.Label
			if c.Group == nil && r.Container == "" && b.Step.Class() == timeline.Stop {
				text = r.Name + " " + string(b.Step)
			}
			var more strings.Builder
			for _, d := range b.Detail() {
				more.WriteString("; " + d.Text)
			}
			list = append(list, line{b.End, timeline.Line(text + " took " + timeline.Took(b.Duration())), more.String()})
		}
		for _, m := range r.Marks {
			l := line{at: m.At, text: timeline.Line(r.Name + " " + m.Name)}
			if m.Text != "" {
				l.more = ": " + timeline.Line(m.Text)
			}
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(x, y line) int { return cmp.Compare(x.at.UnixNano(), y.at.UnixNano()) })
	return list
}
