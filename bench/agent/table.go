package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/process"
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

// print writes the tables: medians, the worst, ratios.
func (b *bench) print(out io.Writer) {
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
		b.printLoads(out)
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

// printLoads writes what pods that do nothing take. lifepod is to take at most a part of what the kubelet takes.
func (b *bench) printLoads(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "\n%d idle pods\tn\tkubelet\tlifepod\tless\tto reach\t\t\n", b.plan.pods)
	for _, f := range []struct {
		what   string
		of     func(process.Load) float64
		part   float64 // 0: nothing is to be reached
		format string
	}{
		{"CPU", func(l process.Load) float64 { return l.CPU }, 3, "%.2f %%"},
		{"memory", func(l process.Load) float64 { return l.Resident }, 2, "%.1f MiB"},
		{"anonymous", func(l process.Load) float64 { return l.Anonymous }, 0, "%.1f MiB"},
	} {
		theirs, ours := median(b.all.loads[testbed.Kubelet], f.of), median(b.all.loads[testbed.Lifepod], f.of)
		text, answer := "", ""
		if f.part > 0 {
			text, answer = fmt.Sprintf("1/%g", f.part), times.Verdict(theirs > 0 && ours > 0, ours*f.part <= theirs)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t"+f.format+"\t"+f.format+"\t%s\t%s\t%s\t\n",
			f.what, len(b.all.loads[testbed.Lifepod]), theirs, ours, times.Ratio(theirs, ours), text, answer)
	}
	_ = w.Flush() // to the terminal
}

// median is that of one figure, 0 if nothing was measured.
func median(of []process.Load, figure func(process.Load) float64) float64 {
	var values []float64
	for _, l := range of {
		values = append(values, figure(l))
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}
