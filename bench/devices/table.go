package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// Print writes the table: medians, the worst, ratios.
func (b *bench) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "restart all with two devices\tn\tfloor\tp99\tkubelet\tp99\tlifepod\tp99\tof floor\tfaster\tto reach\t\t")
	floors := b.all.Of(floor + " restart all")
	bare := times.Quantile(floors, 0.5)
	for _, k := range kinds {
		kubelets, lifepods := b.all.Of(testbed.Kubelet+" "+k.name), b.all.Of(testbed.Lifepod+" "+k.name)
		theirs, ours := times.Quantile(kubelets, 0.5), times.Quantile(lifepods, 0.5)
		of := "-"
		if bare > 0 && ours > 0 {
			of = fmt.Sprintf("%.2f", float64(ours)/float64(bare))
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", k.name, len(lifepods),
			times.Milliseconds(bare), times.Milliseconds(times.Quantile(floors, 0.99)),
			times.Milliseconds(theirs), times.Milliseconds(times.Quantile(kubelets, 0.99)),
			times.Milliseconds(ours), times.Milliseconds(times.Quantile(lifepods, 0.99)),
			of, times.Ratio(theirs.Seconds(), ours.Seconds()), "≤ 1.25 × floor", times.Verdict(bare > 0 && ours > 0, ours*100 <= bare*125))
	}
	_ = w.Flush() // to the terminal
}
