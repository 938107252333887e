package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lifepod/lifepod/bench/times"
)

// step is a part of a create or a delete. Those of a call of the runtime follow it.
type step struct {
	name  string
	part  bool          // of the step before
	began time.Duration // since lifepod was asked
	took  time.Duration
}

// calls are the effects that are calls of the runtime, which containerd tells about.
var calls = map[string]string{
	"CreateSandbox": "RunPodSandbox", "CreateContainer": "CreateContainer", "StartContainer": "StartContainer",
	"StopContainer": "StopContainer", "StopSandbox": "StopPodSandbox", "RemoveSandbox": "RemovePodSandbox",
}

// whole is what steps are of: until what a pod was asked for is done.
type whole struct {
	Name        string
	Began, Done time.Time
}

// stepsOf are the steps, in the order in which they began.
func stepsOf(whole whole, spans []sdk.ReadOnlySpan, all []moment) []step {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b sdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	list := []step{{name: whole.Name, took: whole.Done.Sub(whole.Began)}}
	for _, span := range spans {
		if !span.Parent().IsValid() || span.StartTime().After(whole.Done) {
			continue // the span of a sync, which its effects add up to; what follows from what was asked for
		}
		call, is := calls[span.Name()]
		list = append(list, step{name: cmp.Or(call, span.Name()), began: span.StartTime().Sub(whole.Began), took: span.EndTime().Sub(span.StartTime())})
		if is {
			list = append(list, parts(whole.Began, span, call, all)...)
		}
	}
	return list
}

// parts returns the parts of a call. Each lasts from one event of containerd to the next.
func parts(began time.Time, span sdk.ReadOnlySpan, call string, all []moment) (list []step) {
	from, until := span.StartTime(), "begin"
	add := func(what string, at time.Time) {
		list = append(list, step{name: call + " " + until + " → " + what, part: true, began: from.Sub(began), took: at.Sub(from)})
		from, until = at, what
	}
	for _, m := range all {
		if m.At.After(span.StartTime()) && m.At.Before(span.EndTime()) {
			add(m.What, m.At)
		}
	}
	if until != "begin" {
		add("answer", span.EndTime())
	}
	return list
}

// printSteps prints the medians of both sides.
func printSteps(out io.Writer, before, carried [][]step) {
	was, is := medians(before), medians(carried)
	names := slices.Sorted(maps.Keys(is))
	for name := range was {
		if _, both := is[name]; !both {
			names = append(names, name)
		}
	}
	at := func(name string) step {
		if s, found := is[name]; found {
			return s
		}
		return was[name]
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(at(a).began, at(b).began), cmp.Compare(at(b).took, at(a).took))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "step\tstock begins\ttakes\tcarried begins\ttakes")
	for _, name := range names {
		indent := ""
		if at(name).part {
			indent = "  "
		}
		_, _ = fmt.Fprintf(w, "%s%s\t%s\t%s\n", indent, name, columns(was, name), columns(is, name))
	}
	_ = w.Flush() // to the terminal
	_, _ = fmt.Fprintln(out)
}

func columns(of map[string]step, name string) string {
	s, found := of[name]
	if !found {
		return "-\t-"
	}
	return fmt.Sprintf("%.1fms\t%.1fms", times.InMilliseconds(s.began), times.InMilliseconds(s.took))
}

// medians are the steps that most repeats have.
func medians(repeats [][]step) map[string]step {
	began, took, one := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string]step{}
	for _, steps := range repeats {
		for _, s := range steps {
			began[s.name], took[s.name], one[s.name] = append(began[s.name], s.began), append(took[s.name], s.took), s
		}
	}
	for name, s := range one {
		if 2*len(took[name]) <= len(repeats) {
			delete(one, name)
			continue
		}
		s.began, s.took = times.Quantile(began[name], 0.5), times.Quantile(took[name], 0.5)
		one[name] = s
	}
	return one
}
