package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

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
	}
	if p.pods > 0 {
		list = append(list, faster(fmt.Sprintf("%d created at once", p.pods), 1.8), faster(fmt.Sprintf("%d deleted at once", p.pods), 1.8))
	}
	return list
}

func faster(what string, times float64) target {
	return target{what, fmt.Sprintf("%g× faster", times), func(_, kubelet, lifepod time.Duration) bool {
		return float64(lifepod)*times <= float64(kubelet)
	}}
}

// print writes the tables: medians, the worst, ratios.
func (r *results) print(out io.Writer, p plan) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tn\tfloor\tkubelet\tp99\tlifepod\tp99\tto floor\tfaster\tto reach\t\t")
	for _, t := range p.targets() {
		kubelets, lifepods := r.times.Of(kubelet+" "+t.what), r.times.Of(lifepod+" "+t.what)
		bare, theirs, ours := times.Quantile(r.times.Of(floor+" "+t.what), 0.5), times.Quantile(kubelets, 0.5), times.Quantile(lifepods, 0.5)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", t.what, len(lifepods), times.Milliseconds(bare),
			times.Milliseconds(theirs), times.Milliseconds(times.Quantile(kubelets, 0.99)),
			times.Milliseconds(ours), times.Milliseconds(times.Quantile(lifepods, 0.99)),
			more(bare, ours), ratio(float64(theirs), float64(ours)), t.text, verdict(theirs > 0 && ours > 0, t.met(bare, theirs, ours)))
	}
	_ = w.Flush() // to the terminal
	if p.pods > 0 {
		r.loads.print(out, p)
	}
}

// figure is one of those of idle processes; lifepod's is to be a part of the kubelet's.
type figure struct {
	what   string
	of     func(load) float64
	part   float64 // 0: nothing is to be reached
	format string
}

var figures = []figure{
	{"CPU", func(l load) float64 { return l.cpu }, 3, "%.2f %%"},
	{"memory", func(l load) float64 { return l.resident }, 2, "%.1f MiB"},
	{"anonymous", func(l load) float64 { return l.anonymous }, 0, "%.1f MiB"},
}

func (l *loads) print(out io.Writer, p plan) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "\n%d idle pods\tn\tkubelet\tlifepod\tless\tto reach\t\t\n", p.pods)
	for _, f := range figures {
		theirs, ours := l.median(kubelet, f.of), l.median(lifepod, f.of)
		text, answer := "", ""
		if f.part > 0 {
			text, answer = fmt.Sprintf("1/%g", f.part), verdict(theirs > 0 && ours > 0, ours*f.part <= theirs)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t"+f.format+"\t"+f.format+"\t%s\t%s\t%s\t\n",
			f.what, len(l.by[lifepod]), theirs, ours, ratio(theirs, ours), text, answer)
	}
	_ = w.Flush() // to the terminal
}

func verdict(measured, met bool) string {
	switch {
	case !measured:
		return "-"
	case met:
		return "met"
	}
	return "NOT met"
}

func more(floor, ours time.Duration) string {
	if floor == 0 || ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1fms", float64((ours-floor).Microseconds())/1000)
}

func ratio(theirs, ours float64) string {
	if theirs == 0 || ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f×", theirs/ours)
}
