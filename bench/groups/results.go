package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// What is written in a restart.
const (
	statuses   = "statuses"
	newEvents  = "new events"
	moreEvents = "events counted"
	ofAgents   = "of agents" // their attempts
)

// writesSince are what nodes and agents have written of the pods.
func (b *bench) writesSince(begin int64) (map[string]int, error) {
	writes := map[string]int{}
	return writes, testbed.AuditSince(b.plane, begin, func(e testbed.AuditEvent) {
		if !isMember(e.ObjectRef.Name) {
			return
		}
		switch e.Request() {
		case "pods/status patch", "pods/status update":
			writes[statuses]++
		case "pods/ patch":
			writes[ofAgents]++
		case "events/ create":
			writes[newEvents]++
		case "events/ patch", "events/ update":
			writes[moreEvents]++
		default:
		}
	})
}

// results has the times of all restarts of a side, and the sum of their writes.
type results struct {
	side   side
	times  []time.Duration
	writes map[string]int
	load   string // average of the machine at the end
}

func (r *results) add(took time.Duration, writes map[string]int) {
	r.times = append(r.times, took)
	for what, count := range writes {
		r.writes[what] += count
	}
}

// print writes the table.
func print(p plan, all []results) {
	pods := p.nodes * p.workers
	fmt.Fprintf(os.Stdout, "%d rounds of %d pods\n\n", p.n, pods)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tnodes\texit until all run, median\tmax\tstatuses\tnew events\tevents counted\tof agents\t"+
		"writes per pod and round\tload average")
	for _, r := range all {
		each := func(what string) float64 { return float64(r.writes[what]) / float64(p.n*pods) }
		sum := each(statuses) + each(newEvents) + each(moreEvents) + each(ofAgents)
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\n", r.side.title, len(r.side.nodes),
			times.Milliseconds(times.Quantile(r.times, 0.5)), times.Milliseconds(times.Quantile(r.times, 1)),
			each(statuses), each(newEvents), each(moreEvents), each(ofAgents), sum, r.load)
	}
	_ = table.Flush() // to standard output
}

// loadAverage is the machine's of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
