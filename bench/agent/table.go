package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// target says what lifepod's median is to reach, given those of floor and kubelet.
type target struct {
	what string
	text string
	met  func(floor, kubelet, lifepod time.Duration) bool
}

func (p plan) targets() []target {
	list := []target{
		{"create", "≤ floor + 20ms, ≤ kubelet", func(floor, kubelet, lifepod time.Duration) bool {
			return lifepod <= floor+20*time.Millisecond && lifepod <= kubelet
		}},
		faster("restart", 4),
		faster("delete", 5),
		faster("restart all", 8),
		faster("readiness flip", 1),
		within(leaseBack, time.Second),
		within(statusBack, time.Second),
	}
	if p.pods > 0 {
		list = append(list, crowd(p.pods), faster(fmt.Sprintf("%d deleted at once", p.pods), 1.8))
	}
	return list
}

func faster(what string, times float64) target {
	return target{what, fmt.Sprintf("%g× faster", times), func(_, kubelet, lifepod time.Duration) bool {
		return float64(lifepod)*times <= float64(kubelet)
	}}
}

// crowd is to be created hardly later than by the bare calls.
func crowd(pods int) target {
	return target{atOnce(pods), "≤ 1.15 × floor, 1.8× faster", func(floor, kubelet, lifepod time.Duration) bool {
		return float64(lifepod) <= 1.15*float64(floor) && 1.8*float64(lifepod) <= float64(kubelet)
	}}
}

func within(what string, limit time.Duration) target {
	return target{what, "≤ " + limit.String(), func(_, _, lifepod time.Duration) bool { return lifepod <= limit }}
}

// Print writes the tables: medians, the worst, ratios.
func (b *bench) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tfloor\t"+b.KubeletTitle()+"\tp99\tlifepod\tp99\tto floor\tfaster\tto reach\t\t")
	for _, t := range b.plan.targets() {
		kubelets, lifepods := b.all.times.Of(testbed.Kubelet+" "+t.what), b.all.times.Of(testbed.Lifepod+" "+t.what)
		bare, theirs, ours := times.Quantile(b.all.times.Of(floor+" "+t.what), 0.5), times.Quantile(kubelets, 0.5), times.Quantile(lifepods, 0.5)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.what, len(lifepods), times.Milliseconds(bare),
			times.Milliseconds(theirs), times.Milliseconds(times.Quantile(kubelets, 0.99)),
			times.Milliseconds(ours), times.Milliseconds(times.Quantile(lifepods, 0.99)),
			more(bare, ours), times.Ratio(float64(theirs), float64(ours)), t.text, times.Verdict(theirs > 0 && ours > 0, t.met(bare, theirs, ours)))
	}
	_ = w.Flush() // to the terminal
	if b.plan.pods > 0 {
		b.all.loads.Print(out, b.plan.pods, 3, 2)
		b.printUsed(out)
	}
	b.printWrites(out)
}

func more(floor, ours time.Duration) string {
	if floor == 0 || ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1fms", float64((ours-floor).Microseconds())/1000)
}
