package run

import (
	"slices"
)

// logRows are the end of the selected container's log, or what the user has scrolled to.
func (v page) logRows(room int) []string {
	room = max(room-1, 0) // below the title
	rows := v.wrappedEnd(v.user.scrolled + room)
	v.user.scrolled = min(v.user.scrolled, max(len(rows)-room, 0))
	end := len(rows) - v.user.scrolled
	where := v.language.Word("follows")
	if v.user.scrolled > 0 {
		where = v.language.Say("%d rows above the end", v.user.scrolled)
	}
	title := v.paint(strong, v.language.Say("log of %s", harmless(v.user.selected))) + v.paint(faint, "  "+where)
	if len(rows) == 0 {
		return []string{title, v.paint(faint, v.language.Word("it has not written anything yet"))}
	}
	return append([]string{title}, rows[max(end-room, 0):end]...)
}

// wrappedEnd is the end of the selected container's log, of at least so many rows if it has them.
func (v page) wrappedEnd(least int) (rows []string) {
	t := v.logs[v.user.selected]
	if t == nil {
		return nil
	}
	for _, line := range slices.Backward(t.lines) {
		lines := wrap(line, v.width, "")
		slices.Reverse(lines)
		rows = append(rows, lines...)
		if len(rows) >= least && least < mostRows {
			break
		}
	}
	slices.Reverse(rows)
	return rows
}

// whyRows say why the selected container, and the pod, are as they are.
func (v page) whyRows(room int) []string {
	e := v.because.About(v.user.selected)
	title := v.paint(strong, v.language.Say("why: the pod and %s", harmless(v.user.selected)))
	switch {
	case v.unknown != "":
		return append([]string{title}, wrap(v.unknown, v.width, "")...)
	case e.Standing == "":
		return []string{title, v.paint(faint, v.language.Word("the journal is being read"))}
	}
	rows := wrap(e.Standing, v.width, "")
	for _, s := range e.Sentences {
		rows = append(rows, wrap("- "+s.Text, v.width, "  ")...)
	}
	if len(e.Sentences) == 0 {
		rows = append(rows, wrap(e.Nothing(v.language), v.width, "")...)
	}
	return append([]string{title}, v.scroll(rows, room-1)...)
}

// scroll is what of a panel's rows the user has scrolled to.
func (v page) scroll(rows []string, room int) []string {
	v.user.scrolled = min(v.user.scrolled, max(len(rows)-max(room, 0), 0))
	return rows[v.user.scrolled:]
}

var help = []string{
	"↑ ↓        another container; scroll in logs and why",
	"← → tab    another container",
	"l          its log: pgup and pgdown scroll, end follows again",
	"w          why it is as it is",
	"r          restart it, gracefully; the others run on",
	"s          stop the pod gracefully; the view shows what is left of the grace",
	"q          leave a panel; else ask, and then stop the pod and leave",
	"Ctrl-C     stop the pod gracefully; again: kill it",
	`Ctrl-\     kill the pod at once`,
	"Ctrl-Z     suspend lifepod, not the pod",
	"esc        back",
	"",
	"The pod is lifepod run's, and ends with it. What is shown here is written to",
	"the terminal when the view ends. --plain shows lines instead.",
}
