package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// count files what a side has written when something happened to its pods.
func (r *results) count(side, what string, c counted) {
	sum := r.writes[side][what]
	if sum.written == nil {
		sum.written = written{}
	}
	sum.add(c.written)
	r.writes[side][what] = counted{sum.written, sum.pods + c.pods}
}

// cpuPerPod is what lifepod is to use at most of a CPU for a pod that is created.
const cpuPerPod = 8 * time.Millisecond

// printUsed writes the table of CPU time.
func (b *bench) printUsed(out io.Writer) {
	r := &b.all
	theirs, ours := times.Quantile(r.created[testbed.Kubelet], 0.5), times.Quantile(r.created[testbed.Lifepod], 0.5)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "\n%s\tn\t%s\tlifepod\tless\tto reach\t\t\n", atOnce(b.plan.pods), b.KubeletTitle())
	_, _ = fmt.Fprintf(w, "CPU for each\t%d\t%s\t%s\t%s\t≤ %v\t%s\t\n", len(r.created[testbed.Lifepod]),
		times.Milliseconds(theirs), times.Milliseconds(ours), times.Ratio(float64(theirs), float64(ours)), cpuPerPod, times.Verdict(ours > 0, ours <= cpuPerPod))
	_ = w.Flush() // to the terminal
}

// printWrites writes the table of writes to the API server, each divided by the number of pods.
func (b *bench) printWrites(out io.Writer) {
	r := &b.all
	if len(r.counted()) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\nwrites for each pod\tpods\t"+b.KubeletTitle()+":\tstatus\tevents\tcounted\tdelete\tall\tlifepod:\tstatus\tevents\tcounted\tdelete\tall\tless\t")
	for _, what := range r.counted() {
		theirs, ours := r.writes[testbed.Kubelet][what], r.writes[testbed.Lifepod][what]
		_, _ = fmt.Fprintf(w, "%s\t%d\t\t%s\t\t%s\t%s\t\n", what, max(theirs.pods, ours.pods), theirs, ours,
			times.Ratio(theirs.each(theirs.perPod()), ours.each(ours.perPod())))
	}
	_ = w.Flush() // to the terminal
	for _, side := range []string{testbed.Kubelet, testbed.Lifepod} {
		sum := written{}
		for _, c := range r.writes[side] {
			sum.add(c.written)
		}
		_, _ = fmt.Fprintf(out, "%s wrote besides: %d leases, %d of its Node, %d tokens, %d others\n", side, sum[leases], sum[nodes], sum[tokens], sum[others])
	}
}

// counted are the rows that have writes, in the order of a pod's life.
func (r *results) counted() (rows []string) {
	order := []string{created, restarted, deleted, workerCreated, allRestarted}
	for _, side := range r.writes {
		for what := range side {
			if !slices.Contains(order, what) { // so many at once
				order = append(order, what)
			}
		}
	}
	return slices.DeleteFunc(order, func(what string) bool {
		return r.writes[testbed.Kubelet][what].pods+r.writes[testbed.Lifepod][what].pods == 0
	})
}

// each is a number of writes for each pod; 0 if nothing was counted.
func (c counted) each(writes int) float64 { return float64(writes) / float64(max(c.pods, 1)) }

// String are the columns of one side.
func (c counted) String() string {
	if c.pods == 0 {
		return "-\t-\t-\t-\t-"
	}
	return fmt.Sprintf("%.2f\t%.2f\t%.2f\t%.2f\t%.2f", c.each(c.written[statuses]), c.each(c.written[events]), c.each(c.written[countedEvents]), c.each(c.written[deletions]), c.each(c.perPod()))
}
