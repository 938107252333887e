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
	if len(r.attempts) == 0 {
		return
	}
	fmt.Fprintf(out, "A worker of a JobSet with %d members exits, on as many simulated nodes. Rounds: %d\n", p.pods, len(r.attempts))
	fmt.Fprintf(out, "%-48s %10s %10s\n", "from the exit until", "median", "max")
	for _, row := range []struct {
		what string
		of   func(result) time.Duration
	}{
		{"its pod has told the next attempt", func(r result) time.Duration { return r.first }},
		{"the JobSet says that the last one is outdated", func(r result) time.Duration { return r.out }},
		{"all pods have announced the next one", func(r result) time.Duration { return r.allIn }},
		{"the JobSet says that it may begin", func(r result) time.Duration { return r.may }},
		{"all workers have started", func(r result) time.Duration { return r.starts }},
		{"all run again, by their statuses", func(r result) time.Duration { return r.time }},
	} {
		line(out, row.what, each(r.attempts, row.of))
	}
	if p.floors {
		bare, owned := each(r.bare, taken.took), each(r.owned, taken.took)
		line(out, "bare writes: two statuses of as many pods", bare)
		line(out, "the same writes for the pods of another JobSet", owned)
		all := median(each(r.attempts, func(r result) time.Duration { return r.time })).Seconds()
		fmt.Fprintf(out, "%-48s %10s\n", "all run again, by the bare writes", times.Ratio(all, median(bare).Seconds()))
		fmt.Fprintf(out, "%-48s %10s\n", "all run again, by the writes for another JobSet", times.Ratio(all, median(owned).Seconds()))
	}
	r.printWrites(out, p)
	fmt.Fprintln(out, "writes that the API server was asked for, mean:")
	const eachAttempt, ofBare, ofOwned = "each round, until all run", "the bare writes", "the writes of a JobSet's pods"
	printRequests(out, eachAttempt, each(r.attempts, func(r result) requests { return r.requests }))
	if p.floors {
		printRequests(out, ofBare, each(r.bare, func(t taken) requests { return t.requests }))
		printRequests(out, ofOwned, each(r.owned, func(t taken) requests { return t.requests }))
	}
	fmt.Fprintln(out, "CPU time, mean:")
	printCPU(out, eachAttempt, each(r.attempts, func(r result) map[string]time.Duration { return r.cpu }))
	if p.floors {
		printCPU(out, ofBare, each(r.bare, func(t taken) map[string]time.Duration { return t.cpu }))
		printCPU(out, ofOwned, each(r.owned, func(t taken) map[string]time.Duration { return t.cpu }))
	}
}

func line(out io.Writer, what string, took []time.Duration) {
	fmt.Fprintf(out, "%-48s %10s %10s\n", what, ms(median(took)), ms(slices.Max(took)))
}

func median(of []time.Duration) time.Duration { return times.Quantile(of, 0.5) }

func (t taken) took() time.Duration { return t.time }

// printWrites prints how much was written.
func (r *results) printWrites(out io.Writer, p plan) {
	n := float64(len(r.attempts))
	pods := n * float64(p.pods)
	var during, whole writes
	for _, one := range r.attempts {
		during, whole = during.plus(one.writes), whole.plus(one.later)
	}
	fmt.Fprintf(out, "writes for each pod and round: %.2f statuses, %.2f events until all run; "+
		"%.2f events with those told later; of the JobSet %.1f for each round\n",
		float64(during.statuses)/pods, float64(during.events)/pods, float64(whole.events)/pods, float64(whole.jobSets)/n)
	fmt.Fprint(out, "the worker in these statuses:")
	for _, kind := range slices.SortedFunc(maps.Keys(r.says), func(a, b string) int { return cmp.Compare(r.says[b], r.says[a]) }) {
		fmt.Fprintf(out, " %s %.2f,", kind, float64(r.says[kind])/pods)
	}
	fmt.Fprintln(out)
}

func printRequests(out io.Writer, what string, all []requests) {
	sum := requests{}
	for _, one := range all {
		for of, n := range one {
			sum[of] += n
		}
	}
	fmt.Fprintf(out, "  %s:", what)
	for _, of := range slices.SortedFunc(maps.Keys(sum), func(a, b string) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b)) }) {
		fmt.Fprintf(out, " %s %.0f,", of, float64(sum[of])/float64(len(all)))
	}
	fmt.Fprintln(out)
}

func printCPU(out io.Writer, what string, used []map[string]time.Duration) {
	mean, sum := map[string]time.Duration{}, time.Duration(0)
	for _, one := range used {
		for name, t := range one {
			mean[name] += t / time.Duration(len(used))
			sum += t / time.Duration(len(used))
		}
	}
	fmt.Fprintf(out, "  %s: %v;", what, ms(sum))
	for _, name := range slices.SortedFunc(maps.Keys(mean), func(a, b string) int { return cmp.Compare(mean[b], mean[a]) }) {
		fmt.Fprintf(out, " %s %v,", name, ms(mean[name]))
	}
	fmt.Fprintln(out)
}

func (w writes) plus(o writes) writes {
	return writes{w.statuses + o.statuses, w.events + o.events, w.jobSets + o.jobSets}
}

func each[Of, What any](all []Of, of func(Of) What) (list []What) {
	for _, one := range all {
		list = append(list, of(one))
	}
	return list
}
