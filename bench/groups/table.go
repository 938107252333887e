package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bench/times"
)

// print prints the table of a way.
func (g *group) print(out io.Writer) {
	if len(g.attempts) == 0 {
		return
	}
	n := float64(g.plan.pods)
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
	mean := func(of func(taken) float64) string {
		return fmt.Sprintf("%.2f", sum(g.attempts, of)/float64(len(g.attempts))/n)
	}
	figure("writes of a member until all workers have started", mean(func(r taken) float64 { return float64(r.before) }))
	figure("  in the whole round", mean(func(r taken) float64 { return float64(r.writes) }))
	figure("events that all watchers got, for each member", mean(func(r taken) float64 { return r.events }))
	figure("  the same of the bare writes", mean(func(r taken) float64 { return r.bareEvents }))
	fmt.Fprintf(out, "CPU time of a round until all run, mean: %s\n\n", g.cpuText())
}

// cpuText is what each process has used, those first that have used most.
func (g *group) cpuText() string {
	used := map[string]time.Duration{}
	all := time.Duration(0)
	for _, r := range g.attempts {
		for name, t := range r.cpu {
			used[name] += t / time.Duration(len(g.attempts))
			all += t / time.Duration(len(g.attempts))
		}
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Compare(used[b], used[a]) }) {
		parts = append(parts, fmt.Sprintf("%s %v", name, ms(used[name])))
	}
	return fmt.Sprintf("%v; %s", ms(all), strings.Join(parts, ", "))
}

func ratio(of, by []time.Duration) string {
	return times.Ratio(median(of).Seconds(), median(by).Seconds())
}

func median(of []time.Duration) time.Duration { return times.Quantile(of, 0.5) }

func each[What any](all []taken, of func(taken) What) (list []What) {
	for _, one := range all {
		list = append(list, of(one))
	}
	return list
}

func sum(all []taken, of func(taken) float64) (s float64) {
	for _, one := range all {
		s += of(one)
	}
	return s
}
