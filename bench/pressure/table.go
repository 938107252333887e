package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// target says what lifepod's worst time is to be at most; 0: nothing is to be reached.
type target struct {
	what string
	text string
	most time.Duration
}

func (p plan) targets() []target {
	var list []target
	if p.n > 0 {
		list = append(list, target{hogEnds, "≤ 1s", time.Second}, target{what: hogFreed},
			target{hogIgnores, "≤ 1s + 2s of grace", 3 * time.Second})
	}
	if p.shutdown > 0 {
		most := period - criticalPeriod
		list = append(list, target{p.shutdownOf(), fmt.Sprintf("≤ %v, all told", most), most})
	}
	return list
}

// Print writes the tables: medians, the worst, ratios.
func (b *bench) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tkubelet\tworst\tlifepod\tworst\tfaster\tto reach\t\t")
	for _, t := range b.plan.targets() {
		kubelets, lifepods := b.all.times.Of(testbed.Kubelet+" "+t.what), b.all.times.Of(testbed.Lifepod+" "+t.what)
		theirs, ours, worst := times.Quantile(kubelets, 0.5), times.Quantile(lifepods, 0.5), times.Quantile(lifepods, 1)
		met := worst <= t.most && (t.what != b.plan.shutdownOf() || b.all.untold[testbed.Lifepod] == 0)
		verdict := ""
		if t.most > 0 {
			verdict = times.Verdict(ours > 0, met)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.what, max(len(kubelets), len(lifepods)),
			times.Milliseconds(theirs), times.Milliseconds(times.Quantile(kubelets, 1)), times.Milliseconds(ours), times.Milliseconds(worst),
			times.Ratio(float64(theirs), float64(ours)), t.text, verdict)
	}
	_ = w.Flush() // to the terminal
	for _, name := range []string{testbed.Kubelet, testbed.Lifepod} {
		if n := b.all.untold[name]; n > 0 {
			_, _ = fmt.Fprintf(out, "When the %s let the shutdown go on, the API did not know of the end of %d pods.\n", name, n)
		}
	}
	if b.plan.idle > 0 {
		b.all.loads.Print(out, b.plan.pods, 3, 0)
	}
}
