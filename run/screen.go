package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lifepod/lifepod/internal/plain"
)

// Screen is what the terminal shows at that time: as many lines as it has rows, none wider than it is.
func (v *View) Screen(at time.Time) string { return page{moment{v, at}}.screen() }

// page is a screen that is being made.
type page struct{ moment }

func (v page) screen() string {
	lines := []string{v.header()}
	body, room := []string(nil), max(v.height-2, 0)
	switch v.user.panel {
	case logPanel:
		body = v.logRows(room)
	case whyPanel:
		body = v.whyRows(room)
	case helpPanel:
		for _, line := range help {
			body = append(body, v.language.Word(line))
		}
		body = v.scroll(body, room)
	case overview:
		body = v.containerRows(room)
	}
	lines = append(lines, body[:min(len(body), room)]...)
	for len(lines) < v.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, v.footer())
	lines = lines[:min(len(lines), v.height)]
	for i := range lines {
		lines[i] = fit(lines[i], v.width)
	}
	return strings.Join(lines, "\n")
}

// header says which pod it is, and how.
func (v page) header() string {
	phase := cmp.Or(v.now.Phase, "Pending")
	tone := busy
	switch {
	case v.ending():
		phase += v.language.Word(", ending")
	case v.now.Ready:
		phase, tone = phase+", Ready", good
	case phase == "Running":
		phase += ", not Ready"
	case phase == "Failed":
		tone = bad
	}
	right := seconds(v.at.Sub(v.began))
	if v.address != "" {
		right = harmless(v.address) + "  " + right
	}
	left := v.paint(strong, harmless(v.pod.Namespace+"/"+v.pod.Name)) + "  " + v.paint(tone, phase)
	return pad(left, v.width-ansi.StringWidthWc(right)-1) + " " + right
}

// footer says what keys do, asks, or answers.
func (v page) footer() string {
	switch {
	case v.user.asks.Do == Stop:
		return v.paint(strong, v.language.Word("Stop the pod and leave?  q again or y: yes   any other key: no"))
	case v.user.asks.Do == Kill:
		return v.paint(strong, v.language.Word("Kill the pod at once?  q again or y: yes   any other key: no"))
	case v.user.notice != "":
		return v.user.notice
	}
	keys := []string{"l logs", "w why", "r restart", "s stop", "q quit", "? help", "↑↓ container"}
	switch v.user.panel {
	case logPanel:
		keys = []string{"↑↓ scroll", "←→ container", "l back", "w why", "r restart", "s stop", "? help"}
	case whyPanel:
		keys = []string{"↑↓ scroll", "←→ container", "w back", "l logs", "r restart", "s stop", "? help"}
	case helpPanel:
		keys = []string{"? back"}
	case overview:
	}
	line := v.language.Word(keys[0])
	for _, k := range keys[1:] {
		k = v.language.Word(k)
		if ansi.StringWidthWc(line)+3+ansi.StringWidthWc(k) > v.width {
			break
		}
		line += "   " + k
	}
	return v.paint(faint, line)
}

// containerRows are what the pod waits for, its containers with their last lines, and its story.
func (v page) containerRows(room int) (rows []string) {
	for _, l := range v.ofPod() {
		rows = append(rows, v.row("  ", "pod", l, ""))
	}
	rows = rows[:min(len(rows), 3)]
	names := v.inSight(room - len(rows))
	left := room - len(rows) - len(names)
	each := v.logShares(names, left-len(v.storyRows(left*2/5)))
	for _, n := range each {
		left -= n
	}
	story := v.storyRows(left)
	for _, name := range names {
		marker := "  "
		if name == v.user.selected {
			marker = v.paint(strong, "› ")
		}
		rows = append(rows, v.row(marker, name, v.lookOf(name), v.restarts(name)))
		for _, line := range v.lastLines(name, each[name]) {
			rows = append(rows, v.paint(faint, "  │ ")+line)
		}
	}
	for len(rows)+len(story) < room {
		rows = append(rows, "")
	}
	return append(rows, story...)
}

// inSight are the containers that have room, the selected one among them.
func (v page) inSight(room int) []string {
	names := v.names()
	if room = max(room, 1); len(names) <= room {
		return names
	}
	first := min(max(slices.Index(names, v.user.selected)-room/2, 0), len(names)-room)
	return names[first : first+room]
}

// nameColumns is how wide the column of names is.
func (v page) nameColumns() (columns int) {
	for _, name := range v.names() {
		columns = max(columns, ansi.StringWidthWc(harmless(name)))
	}
	return max(min(columns, v.width/4), 3)
}

func (v page) restarts(name string) string {
	for _, c := range v.now.Containers {
		if c.Name == name && c.Restarts > 0 {
			return fmt.Sprintf(" ×%d", c.Restarts)
		}
	}
	return ""
}

// row is one container's, or the pod's.
func (v page) row(marker, name string, l look, right string) string {
	text := marker + pad(harmless(name), v.nameColumns()) + "  " + v.paint(l.tone, l.tone.mark+" "+harmless(l.word))
	if l.share >= 0 {
		text += "  " + v.bar(l.share, max(min(v.width/6, 20), 6))
	}
	if l.more != "" {
		text += "  " + harmless(l.more)
	}
	if right == "" {
		return fit(text, v.width)
	}
	return pad(text, v.width-ansi.StringWidthWc(right)) + right
}

// storyRows are the last lines that lifepod has said, below a rule, in so many rows.
func (v page) storyRows(room int) []string {
	n := min(len(v.story.lines), room-1)
	if n < 1 {
		return nil
	}
	return append([]string{v.paint(faint, strings.Repeat("─", v.width))}, v.story.last(n)...)
}

func (v page) lastLines(name string, n int) []string {
	if t := v.logs[name]; t != nil {
		return t.last(n)
	}
	return nil
}

// logShares is how many lines of its log each container gets: in turn, one after the other, so that
// what one doesn't need goes to the others. The selected one is first.
func (v page) logShares(names []string, room int) map[string]int {
	shares := map[string]int{}
	order := slices.Clone(names)
	slices.SortStableFunc(order, func(a, b string) int {
		switch v.user.selected {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	for given := true; given && room > 0; {
		given = false
		for _, name := range order {
			if t := v.logs[name]; t != nil && shares[name] < len(t.lines) && room > 0 {
				shares[name]++
				room--
				given = true
			}
		}
	}
	return shares
}

// tone is what a text means: the mark before it, and its colour.
type tone struct {
	mark   string
	colour plain.Tone
}

var (
	good   = tone{"●", plain.Good}
	done   = tone{"✓", plain.Good}
	busy   = tone{"◐", plain.Busy}
	bad    = tone{"✗", plain.Bad}
	quiet  = tone{"○", plain.Quiet}
	strong = tone{"", plain.Strong}
	faint  = tone{"", plain.Faint}
)

// paint colours a text, if there are colours.
func (v page) paint(t tone, text string) string { return t.colour.Paint(v.colour, text) }

func harmless(text string) string { return plain.Line(text) }

// fit cuts a text to so many columns.
func fit(text string, columns int) string { return ansi.TruncateWc(text, max(columns, 0), "…") }

// pad is a text of exactly so many columns.
func pad(text string, columns int) string {
	text = fit(text, columns)
	return text + strings.Repeat(" ", max(columns-ansi.StringWidthWc(text), 0))
}

// wrap breaks a text into lines of at most so many columns; those after the first begin with an indent.
func wrap(text string, columns int, indent string) []string {
	lines := strings.Split(ansi.WrapWc(text, max(columns-len(indent), 1), ""), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = indent + lines[i]
	}
	return lines
}

// bar is a share drawn in so many columns.
func (v page) bar(share float64, columns int) string {
	full := min(max(int(share*float64(columns)+0.5), 0), columns)
	return strings.Repeat("█", full) + v.paint(faint, strings.Repeat("░", columns-full))
}
