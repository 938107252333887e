package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// print prints the table of a way.
func (g *group) print(out io.Writer) {
	if len(g.attempts) == 0 {
		return
	}
	fmt.Fprintf(out, "%s of %d members on as many simulated nodes. Rounds: %d\n", g.title, g.plan.pods, len(g.attempts))
	fmt.Fprintf(out, "%-52s %10s %10s\n", "from the exit of a worker until", "median", "max")
	row := func(what string, took []time.Duration) {
		fmt.Fprintf(out, "%-52s %10s %10s\n", what, ms(median(took)), ms(slices.Max(took)))
	}
	started, run := each(g.attempts, func(r taken) time.Duration { return r.started }), each(g.attempts, func(r taken) time.Duration { return r.run })
	if g.plan.lost > 0 {
		row("all members that live have announced the attempt", each(g.attempts, func(r taken) time.Duration { return r.living }))
	}
	row("all workers have started", started)
	if g.plan.lost > 0 {
		row("  since the last member has a node that was lost", each(g.attempts, func(r taken) time.Duration { return r.back }))
	}
	row("all run again, by their statuses", run)
	row("bare writes: two statuses of as many pods", g.bare)
	figure := func(what, value string) { fmt.Fprintf(out, "%-52s %10s\n", what, value) }
	figure("all workers have started, by the bare writes", ratio(started, g.bare))
	figure("all run again, by the bare writes", ratio(run, g.bare))
	if g.idle > 0 {
		figure("all have started while the API server stood still", ms(g.idle).String())
	}
	writes := 0.0
	for _, r := range g.attempts {
		writes += float64(r.writes)
	}
	figure("writes for each member and round", fmt.Sprintf("%.2f", writes/float64(len(g.attempts)*g.plan.pods)))
	fmt.Fprintln(out)
}

func ratio(of, by []time.Duration) string {
	return times.Ratio(median(of).Seconds(), median(by).Seconds())
}

func median(of []time.Duration) time.Duration { return times.Quantile(of, 0.5) }

func each(all []taken, of func(taken) time.Duration) (list []time.Duration) {
	for _, one := range all {
		list = append(list, of(one))
	}
	return list
}
