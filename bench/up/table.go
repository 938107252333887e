package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/process"
)

// What is measured.
const (
	apiReady   = "API ready"
	firstPod   = "first pod Running"
	cold       = ", first start"
	warm       = ", warm"
	idleCPU    = "idle CPU"
	configMaps = "ConfigMaps created"
	scheduled  = "pods scheduled"
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

func (t *table) memory(s side, when string) error {
	var all, anon float64
	for _, pid := range s.pids() {
		r, a, err := process.Memory(pid)
		if err != nil {
			return err
		}
		all, anon = all+r, anon+a
	}
	t.note(s.name(), resident+when, all)
	t.note(s.name(), anonymous+when, anon)
	return nil
}

func (t *table) median(side, what string) (float64, int) {
	values := slices.Sorted(slices.Values(t.of[side][what]))
	if len(values) == 0 {
		return 0, 0
	}
	return values[len(values)/2], len(values)
}

// row is a figure; what is to be reached is the most that it may be, 0 if nothing is.
type row struct {
	what, format string
	most         float64
}

func rows(p plan) []row {
	many := fmt.Sprintf("%d pods", p.pods)
	return []row{
		{apiReady + cold, "%.2f s", 0}, {apiReady + warm, "%.2f s", 2},
		{firstPod + cold, "%.2f s", 0}, {firstPod + warm, "%.2f s", 3.5},
		{resident + "1 pod", "%.0f MiB", 300}, {anonymous + "1 pod", "%.0f MiB", 0},
		{resident + many, "%.0f MiB", 0}, {anonymous + many, "%.0f MiB", 0},
		{idleCPU, "%.1f %%", 3},
		{configMaps, "%.0f /s", 0}, {scheduled, "%.0f /s", 0},
		{binarySize, "%.0f MiB", 0},
	}
}

func (t *table) print(out io.Writer, p plan) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tseparate\tlifepod\tto reach\t\t")
	for _, r := range rows(p) {
		theirs, many := t.median(separateSide, r.what)
		ours, n := t.median(lifepodSide, r.what)
		goal, verdict := "", ""
		if r.most > 0 && n > 0 {
			goal, verdict = "≤ "+fmt.Sprintf(r.format, r.most), "met"
			if ours > r.most {
				verdict = "NOT met"
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t\n", r.what, n, text(r.format, theirs, many), text(r.format, ours, n), goal, verdict)
	}
	_ = w.Flush() // to the terminal
}

func text(format string, value float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf(format, value)
}
