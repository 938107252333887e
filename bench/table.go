package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// target says what a median is to reach, given the floor's and that of the stock runtime.
type target struct {
	what string
	// limit is what lifepod may take at most, and its words.
	limit func(floor time.Duration) time.Duration
	text  string
	// share is of the stock runtime's time, or podman's; 0: nothing is to be reached.
	share float64
}

var targets = []target{
	{"create", plus(15 * time.Millisecond), "floor + 15ms", 0.5},
	{"restart", plus(10 * time.Millisecond), "floor + 10ms", 0.65},
	{"delete", by(1.15), "1.15 × floor", 0.5},
	{"restart all", by(1.25), "1.25 × floor", 0.65},
	{"50 created at once", by(1.1), "1.1 × floor", 0.5},
	{"50 deleted at once", by(1.15), "1.15 × floor", 0.5},
	{"readiness flip", atMost(10 * time.Millisecond), "10ms", 0},
	{"run", atMost(220 * time.Millisecond), "220ms", 0.33},
	{"run, shared runtime", atMost(150 * time.Millisecond), "150ms", 0},
	{"run of 10 pods", by(1.3), "1.3 × floor", 0},
}

func plus(more time.Duration) func(time.Duration) time.Duration {
	return func(floor time.Duration) time.Duration { return floor + more }
}

func by(factor float64) func(time.Duration) time.Duration {
	return func(floor time.Duration) time.Duration { return time.Duration(float64(floor) * factor) }
}

func atMost(limit time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return limit }
}

// print writes the table: medians, 99th percentiles, differences, ratios.
func print(out io.Writer, all *times.Samples) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tstock, podman\tour floor\tp99\tlifepod\tp99\tmore\tof ours\tto reach\t\tof stock\tto reach\t\t")
	for _, t := range targets {
		stocks, floors, ours := all.Of("stock "+t.what), all.Of("floor "+t.what), all.Of("lifepod "+t.what)
		stock, floor, our := times.Quantile(stocks, 0.5), times.Quantile(floors, 0.5), times.Quantile(ours, 0.5)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.what, len(ours),
			times.Milliseconds(stock), times.Milliseconds(floor), times.Milliseconds(times.Quantile(floors, 0.99)),
			times.Milliseconds(our), times.Milliseconds(times.Quantile(ours, 0.99)), more(floor, our),
			ratio(floor, our), t.text, times.Verdict(len(ours) > 0, our <= t.limit(floor)),
			ratio(stock, our), t.shareText(), times.Verdict(t.share > 0 && stock > 0, float64(our) <= t.share*float64(stock)))
	}
	_ = w.Flush() // to the terminal
}

func (t target) shareText() string {
	if t.share == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", t.share)
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

// execShare is what an exec is to take of the CPU time that it takes on the stock runtime.
const execShare = 0.5

// printExecs prints what the execs of a probe took.
func printExecs(out io.Writer, all *times.Samples) {
	of := func(side, what string) time.Duration { return times.Quantile(all.Of(side+" exec"+what), 0.5) }
	stock, ours := of("stock", ", CPU"), of("floor", ", CPU")
	_, _ = fmt.Fprintf(out, "\nan exec of true, as a probe makes it, until its answer: %s on the stock runtime, %s on ours\n",
		times.Milliseconds(of("stock", "")), times.Milliseconds(of("floor", "")))
	_, _ = fmt.Fprintf(out, "CPU of the shim and what it has waited for: %s and %s, %s (to reach: %.2f, %s)\n",
		times.Milliseconds(stock), times.Milliseconds(ours), ratio(stock, ours), execShare,
		times.Verdict(stock > 0, float64(ours) <= execShare*float64(stock)))
}
