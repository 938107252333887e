package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/times"
)

// usage is CPU time of the node, of the runtime and of the API server.
type usage struct{ node, runtime, api time.Duration }

func (u usage) minus(o usage) usage {
	return usage{u.node - o.node, u.runtime - o.runtime, u.api - o.api}
}

// memory is anonymous memory in MiB.
type memory struct{ node, runtime float64 }

// result is what was measured of one program.
type result struct {
	program   string
	created   time.Duration   // from the first create until the last one is answered
	took      time.Duration   // from the first create until all pods are Ready
	latencies []time.Duration // of each pod, from the create until it is Ready
	gone      time.Duration   // from the first delete until all pods are gone

	used, rest usage // until all are Ready, and while nothing happens for restTime
	idle, busy memory
	files      struct{ idle, busy int } // that the node has open
}

// rows are the table's.
var rows = []struct {
	what, format string
	of           func(r result, pods float64) float64
}{
	{"pods created", "%.0f /s", func(r result, pods float64) float64 { return pods / r.created.Seconds() }},
	{"pods Ready", "%.0f /s", func(r result, pods float64) float64 { return pods / r.took.Seconds() }},
	{"all Ready after", "%.1f s", func(r result, _ float64) float64 { return r.took.Seconds() }},
	{"create → Ready, median", "%.0f ms", func(r result, _ float64) float64 { return times.InMilliseconds(times.Quantile(r.latencies, 0.5)) }},
	{"create → Ready, p99", "%.0f ms", func(r result, _ float64) float64 { return times.InMilliseconds(times.Quantile(r.latencies, 0.99)) }},
	{"pods gone after their deletes", "%.0f /s", func(r result, pods float64) float64 { return pods / r.gone.Seconds() }},
	{"CPU of the node per pod", "%.2f ms", func(r result, pods float64) float64 { return times.InMilliseconds(r.used.node) / pods }},
	{"CPU of the runtime per pod", "%.2f ms", func(r result, pods float64) float64 { return times.InMilliseconds(r.used.runtime) / pods }},
	{"CPU of the API server per pod", "%.2f ms", func(r result, pods float64) float64 { return times.InMilliseconds(r.used.api) / pods }},
	{"CPU of the node at rest, of one core", "%.1f %%", func(r result, _ float64) float64 { return 100 * r.rest.node.Seconds() / restTime.Seconds() }},
	{"open files of the node that each pod adds", "%.1f", func(r result, pods float64) float64 { return float64(r.files.busy-r.files.idle) / pods }},
	{"memory of the node without pods", "%.0f MiB", func(r result, _ float64) float64 { return r.idle.node }},
	{"memory of the node that each pod adds", "%.0f KiB", func(r result, pods float64) float64 { return (r.busy.node - r.idle.node) * kib / pods }},
	{"memory of the runtime that each pod adds", "%.1f KiB", func(r result, pods float64) float64 { return (r.busy.runtime - r.idle.runtime) * kib / pods }},
}

const kib = 1024 // in a MiB

// print prints the table.
func print(out io.Writer, p plan, results []result) {
	fmt.Fprintf(out, "%d pods on one node, %d created at the same time; load average %s\n\n", p.pods, p.creators, process.LoadAverage())
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for _, r := range results {
		fmt.Fprint(table, r.program, "\t")
	}
	fmt.Fprintln(table)
	for _, row := range rows {
		fmt.Fprint(table, row.what, "\t")
		for _, r := range results {
			fmt.Fprintf(table, row.format+"\t", row.of(r, float64(p.pods)))
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // whoever reads it sees that it ends
}
