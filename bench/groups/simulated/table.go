package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// print prints what was measured.
func (r *results) print(out io.Writer, p plan) {
	if len(r.rounds) == 0 {
		return
	}
	fmt.Fprintf(out, "A worker of a JobSet with %d members exits, on as many simulated nodes: %d rounds\n", p.pods, len(r.rounds))
	fmt.Fprintf(out, "%-48s %10s %10s\n", "from the exit until", "median", "max")
	for _, row := range []struct {
		what string
		of   func(result) time.Duration
	}{
		{"its pod has told the next attempt", func(r result) time.Duration { return r.first }},
		{"the JobSet says that the last one is outdated", func(r result) time.Duration { return r.out }},
		{"all pods have told the next one", func(r result) time.Duration { return r.told }},
		{"the JobSet says that it may begin", func(r result) time.Duration { return r.may }},
		{"all run again", func(r result) time.Duration { return r.took }},
	} {
		all := each(r.rounds, row.of)
		fmt.Fprintf(out, "%-48s %10s %10s\n", row.what, ms(times.Quantile(all, 0.5)), ms(slices.Max(all)))
	}
	if len(r.floors) > 0 {
		fmt.Fprintf(out, "%-48s %10s %10s\n", "bare writes: two statuses of as many pods", ms(times.Quantile(r.floors, 0.5)), ms(slices.Max(r.floors)))
		took := times.Quantile(each(r.rounds, func(r result) time.Duration { return r.took }), 0.5)
		fmt.Fprintf(out, "all run again : bare writes = %s\n", times.Ratio(took.Seconds(), times.Quantile(r.floors, 0.5).Seconds()))
	}
	rounds, pods := float64(len(r.rounds)), float64(p.pods)
	var during, whole writes
	for _, one := range r.rounds {
		during, whole = during.plus(one.writes), whole.plus(one.later)
	}
	fmt.Fprintf(out, "writes for each pod and round: %.2f statuses, %.2f events until all run; "+
		"%.2f events with those told later; of the JobSet %.1f for each round\n",
		float64(during.statuses)/rounds/pods, float64(during.events)/rounds/pods, float64(whole.events)/rounds/pods, float64(whole.jobSets)/rounds)
	fmt.Fprintf(out, "CPU time for each round until all run, mean:")
	cpu := map[string]time.Duration{}
	for _, one := range r.rounds {
		for name, used := range one.cpu {
			cpu[name] += used / time.Duration(len(r.rounds))
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(cpu), func(a, b string) int { return cmp.Compare(cpu[b], cpu[a]) }) {
		fmt.Fprintf(out, " %s %v,", name, ms(cpu[name]))
	}
	fmt.Fprintln(out)
}

func (w writes) plus(o writes) writes {
	return writes{w.statuses + o.statuses, w.events + o.events, w.jobSets + o.jobSets}
}

func each(rounds []result, of func(result) time.Duration) (all []time.Duration) {
	for _, r := range rounds {
		all = append(all, of(r))
	}
	return all
}
