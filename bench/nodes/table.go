package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/nodes/side"
	"github.com/lifepod/lifepod/bench/seen"
	"github.com/lifepod/lifepod/bench/times"
)

// usage is CPU time of the process of the nodes, and of the API server.
type usage struct{ nodes, api time.Duration }

func (u usage) minus(o usage) usage { return usage{u.nodes - o.nodes, u.api - o.api} }

// result is what was measured in one round.
type result struct {
	nodesReady time.Duration   // from the start of the process until all Nodes are Ready
	created    time.Duration   // from the first create until the last one is answered
	took       time.Duration   // from the first create until all pods are Ready
	latencies  []time.Duration // of each pod, from the create until it is Ready
	gone       time.Duration   // from the first delete until all pods are gone

	untilReady, whole usage
	writes            seen.Requests
	memory            struct{ idle, busy float64 } // anonymous memory of the process in MiB: without pods, and with them
}

// results has what each round measured.
type results struct {
	pods, nodes int
	of          map[string][]result // by side
}

// row is a figure of the table, which is better the lower it is unless more says otherwise.
type row struct {
	what   string
	format string
	more   bool
	of     func(r result, pods, nodes float64) float64
}

var rows = []row{
	{"Nodes Ready after", "%.1f s", false, func(r result, _, _ float64) float64 { return r.nodesReady.Seconds() }},
	{"pods created", "%.0f /s", true, func(r result, pods, _ float64) float64 { return pods / r.created.Seconds() }},
	{"pods Ready", "%.0f /s", true, func(r result, pods, _ float64) float64 { return pods / r.took.Seconds() }},
	{"create → Ready, median", "%.0f ms", false, func(r result, _, _ float64) float64 { return times.InMilliseconds(times.Quantile(r.latencies, 0.5)) }},
	{"create → Ready, p99", "%.0f ms", false, func(r result, _, _ float64) float64 { return times.InMilliseconds(times.Quantile(r.latencies, 0.99)) }},
	{"pods gone after their deletes", "%.0f /s", true, func(r result, pods, _ float64) float64 { return pods / r.gone.Seconds() }},
	{"CPU of the nodes per pod, until Ready", "%.2f ms", false, perPod(func(r result) time.Duration { return r.untilReady.nodes })},
	{"CPU of the nodes per pod, in all", "%.2f ms", false, perPod(func(r result) time.Duration { return r.whole.nodes })},
	{"CPU of the API server per pod, until Ready", "%.2f ms", false, perPod(func(r result) time.Duration { return r.untilReady.api })},
	{"CPU of the API server per pod, in all", "%.2f ms", false, perPod(func(r result) time.Duration { return r.whole.api })},
	{"memory of the process without pods", "%.1f MiB", false, func(r result, _, _ float64) float64 { return r.memory.idle }},
	{"the same per node", "%.0f KiB", false, func(r result, _, nodes float64) float64 { return r.memory.idle * kib / nodes }},
	{"memory that each pod adds", "%.0f KiB", false, func(r result, pods, _ float64) float64 { return (r.memory.busy - r.memory.idle) * kib / pods }},
	{"statuses written per pod", "%.2f", false, func(r result, pods, _ float64) float64 { return r.writes.Statuses / pods }},
	{"events written per pod", "%.2f", false, func(r result, pods, _ float64) float64 { return r.writes.Events / pods }},
}

// perPod is a time in milliseconds, divided by the pods.
func perPod(of func(result) time.Duration) func(r result, pods, _ float64) float64 {
	return func(r result, pods, _ float64) float64 { return times.InMilliseconds(of(r)) / pods }
}

const kib = 1024 // in a MiB

// print prints the table: medians of the rounds, and how many times better lifepod is than KWOK.
func (r *results) print(out io.Writer, headline string) {
	fmt.Fprintln(out, headline)
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tlifepod\tKWOK\tlifepod is better\ta whole life\t")
	for _, row := range rows {
		ours, has := r.median(row, side.Lifepod)
		theirs, have := r.median(row, side.KWOK)
		life, lives := r.median(row, side.Life)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t\n", row.what, row.show(ours, has), row.show(theirs, have), row.ratio(ours, theirs), row.show(life, lives))
	}
	_ = table.Flush() // whoever reads it sees that it ends
}

// median returns the median over a side's rounds; ok is false if the side had none.
func (r *results) median(row row, of string) (value float64, ok bool) {
	var all []float64
	for _, one := range r.of[of] {
		all = append(all, row.of(one, float64(r.pods), float64(r.nodes)))
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// show is a figure as the table has it, a dash if it was not measured.
func (row row) show(value float64, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf(row.format, value)
}

// ratio is how many times better ours is: below 1 theirs is.
func (row row) ratio(ours, theirs float64) string {
	if ours <= 0 || theirs <= 0 {
		return "-"
	}
	if row.more {
		return fmt.Sprintf("%.2f×", ours/theirs)
	}
	return fmt.Sprintf("%.2f×", theirs/ours)
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
