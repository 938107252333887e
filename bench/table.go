package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// target says what a median is to reach, given the floor's.
type target struct {
	what string
	text string
	met  func(floor, ours time.Duration) bool
}

var targets = []target{
	{"create", "floor + 15ms", within(15 * time.Millisecond)},
	{"restart", "floor + 10ms", within(10 * time.Millisecond)},
	{"delete", "1.15 × floor", func(floor, ours time.Duration) bool { return ours*100 <= floor*115 }},
	{"restart all", "1.25 × floor", func(floor, ours time.Duration) bool { return ours*100 <= floor*125 }},
	{"30 created at once", "1.1 × floor", func(floor, ours time.Duration) bool { return ours*10 <= floor*11 }},
	{"30 deleted at once", "1.15 × floor", func(floor, ours time.Duration) bool { return ours*100 <= floor*115 }},
	{"readiness flip", "10ms", func(_, ours time.Duration) bool { return ours <= 10*time.Millisecond }},
	{"run", "600ms", func(_, ours time.Duration) bool { return ours <= 600*time.Millisecond }},
	{"run, shared runtime", "600ms", func(_, ours time.Duration) bool { return ours <= 600*time.Millisecond }},
}

func within(more time.Duration) func(floor, ours time.Duration) bool {
	return func(floor, ours time.Duration) bool { return ours <= floor+more }
}

// print writes the table: medians, 99th percentiles, differences, ratios.
func print(out io.Writer, all *times.Samples) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tfloor median\tfloor p99\tlifepod median\tlifepod p99\tmore\tratio\tto reach\t\t")
	for _, t := range targets {
		floors, ours := all.Of("floor "+t.what), all.Of("lifepod "+t.what)
		floor, our := times.Quantile(floors, 0.5), times.Quantile(ours, 0.5)
		verdict := "met"
		if !t.met(floor, our) {
			verdict = "NOT met"
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.what, len(ours),
			times.Milliseconds(floor), times.Milliseconds(times.Quantile(floors, 0.99)), times.Milliseconds(our), times.Milliseconds(times.Quantile(ours, 0.99)),
			more(floor, our), ratio(floor, our), t.text, verdict)
	}
	_ = w.Flush() // to the terminal
}

func more(floor, ours time.Duration) string {
	if floor == 0 {
		return "-"
	}
	return times.Milliseconds(ours - floor)
}

func ratio(floor, ours time.Duration) string {
	if floor == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(ours)/float64(floor))
}
