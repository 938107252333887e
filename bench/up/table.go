package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/times"
)

const (
	apiReady   = "API ready"
	firstPod   = "first pod Running"
	cold       = ", first start"
	warm       = ", warm"
	idleCPU    = "idle CPU"
	binarySize = "binary"
	resident   = "memory, "
	anonymous  = "anonymous, "
)

// table is all that was measured, by side and figure.
type table struct {
	of map[string]map[string][]float64
}

func (t *table) note(side, what string, value float64) {
	if t.of == nil {
		t.of = map[string]map[string][]float64{}
	}
	if t.of[side] == nil {
		t.of[side] = map[string][]float64{}
	}
	t.of[side][what] = append(t.of[side][what], value)
}

func (t *table) since(s side, what string, began time.Time) {
	t.note(s.name(), what, time.Since(began).Seconds())
}

func (t *table) memory(s side, when string, of process.Load) {
	t.note(s.name(), resident+when, of.Resident)
	t.note(s.name(), anonymous+when, of.Anonymous)
}

func (t *table) median(side, what string) (float64, int) {
	values := slices.Sorted(slices.Values(t.of[side][what]))
	if len(values) == 0 {
		return 0, 0
	}
	return values[len(values)/2], len(values)
}

// row is a figure, and what is to be reached.
type row struct {
	what, format string
	goal         goal
}

// goal is the most that a figure may be.
type goal struct {
	limit    float64 // 0: there is none
	relative bool    // limit is a multiple of the separate programs' figure
}

func rows(p plan) []row {
	many := fmt.Sprintf("%d pods", p.pods)
	return []row{
		{apiReady + cold, "%.2f s", goal{limit: 2}}, {apiReady + warm, "%.2f s", goal{limit: 0.35, relative: true}},
		{firstPod + cold, "%.2f s", goal{}}, {firstPod + warm, "%.2f s", goal{limit: 1.2}},
		{resident + "1 pod", "%.0f MiB", goal{limit: 250}}, {anonymous + "1 pod", "%.0f MiB", goal{}},
		{resident + many, "%.0f MiB", goal{}}, {anonymous + many, "%.0f MiB", goal{}},
		{idleCPU, "%.1f %%", goal{limit: 1.5}},
		{binarySize, "%.0f MiB", goal{}},
	}
}

// verdict returns the goal in words and whether it is met. Both are empty if nothing was measured.
func (g goal) verdict(format string, ours, theirs float64) (wanted, verdict string) {
	limit, wanted := g.limit, fmt.Sprintf(format, g.limit)
	if g.relative {
		limit, wanted = g.limit*theirs, fmt.Sprintf("%.2f ×", g.limit)
	}
	if limit == 0 || ours == 0 {
		return "", ""
	}
	return "≤ " + wanted, times.Verdict(true, ours <= limit)
}

func (t *table) print(out io.Writer, p plan) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tseparate\tlifepod\tto reach\t\t")
	for _, r := range rows(p) {
		theirs, many := t.median(separateSide, r.what)
		ours, n := t.median(lifepodSide, r.what)
		wanted, verdict := r.goal.verdict(r.format, ours, theirs)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t\n", r.what, n, text(r.format, theirs, many), text(r.format, ours, n), wanted, verdict)
	}
	_ = w.Flush() // to the terminal
}

func text(format string, value float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf(format, value)
}
