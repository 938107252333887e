package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/sim/scenario"
)

// beside is how long before an attempt's answer the scenario has that answer begin, and how long after it the scenario has
// it end: half of the shortest period of a probe. It is less between answers that came closer together.
const beside = 500 * time.Millisecond

// answers are those of an instance's probes that were not always successful.
func (i *instance) answers(running time.Time) *scenario.Probes {
	p := scenario.Probes{}
	for kind, into := range map[string]*[]scenario.Answer{"startup": &p.Startup, "liveness": &p.Liveness, "readiness": &p.Readiness} {
		*into = answersOf(i.untilEnd(i.probes[kind]), running)
	}
	if p.Startup == nil && p.Liveness == nil && p.Readiness == nil {
		return nil
	}
	return &p
}

// untilEnd leaves out what was answered after the instance's end.
func (i *instance) untilEnd(attempts []*journal.Entry) []*journal.Entry {
	return slices.DeleteFunc(attempts, func(e *journal.Entry) bool { return i.ended != nil && e.At.After(i.ended.At) })
}

// answersOf are those over time. The journal has the attempts that something followed from;
// between failures whose count begins anew there was a success.
func answersOf(attempts []*journal.Entry, running time.Time) (list []scenario.Answer) {
	now := "success"
	add := func(at time.Time, answer, output string) {
		if answer != now {
			list = append(list, scenario.Answer{From: span(at.Sub(running)), Answer: answer, Output: output})
			now = answer
		}
	}
	var before *journal.Entry
	for _, e := range attempts {
		if e.Failure != nil {
			continue // it was given up
		}
		answer := e.Value
		if answer == "warning" {
			answer = "success"
		}
		gap := beside
		if before != nil {
			gap = min(gap, e.At.Sub(before.At)/3)
		}
		if before != nil && now == "failure" && answer == "failure" && failures(e) <= failures(before) {
			add(before.At.Add(gap), "success", "")
		}
		add(e.At.Add(-gap), answer, strings.TrimSpace(e.Detail[journal.DetailOutput]))
		before = e
	}
	return list
}

// failures is how many there were in a row.
func failures(e *journal.Entry) int {
	n, err := strconv.Atoi(e.Detail[journal.DetailFailures])
	if err != nil {
		return 0
	}
	return n
}

func secondsIn(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}
