package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/sim/scenario"
)

// ScenarioOf is what happened in a life.
func ScenarioOf(r *journal.Record) (*scenario.Scenario, error) {
	if r.Object || len(r.Entries) == 0 {
		return nil, errors.New("the journal has nothing of the pod's life")
	}
	l := &life{record: r, began: r.Entries[0].At, answers: map[int64]*journal.Entry{}, containers: map[string][]*instance{}}
	for i := range r.Entries {
		l.file(i)
	}
	last := r.Entries[len(r.Entries)-1]
	s := &scenario.Scenario{APIVersion: "lifepod.dev/v1alpha1", Kind: "Scenario", Refuse: l.refusal}
	if l.refusal == nil { // else nothing happens to the pod
		s.Containers, s.Images, s.Calls, s.Events = l.runs(), l.images(), l.calls(), l.events
	}
	if last.Name != "Finish" {
		s.For = l.at(last.At.Add(time.Millisecond))
	}
	return s, nil
}

// life is the journal of one, in the order of what it is about.
type life struct {
	record     *journal.Record
	began      time.Time
	begun      []*journal.Entry         // work, in its order
	answers    map[int64]*journal.Entry // by the entry of what was begun
	containers map[string][]*instance   // by name, in the order of their attempts
	events     []scenario.Event
	refusal    *scenario.Refusal
}

// file files the entry of one line.
func (l *life) file(i int) {
	e := &l.record.Entries[i]
	switch e.Kind {
	case journal.Begun:
		l.begun = append(l.begun, e)
		l.instanceBegun(e)
	case journal.Answered:
		l.answers[e.Cause] = e
		l.instanceAnswered(e)
	case journal.Fact:
		if !l.instanceFact(e) {
			l.happened(i)
		}
	case journal.Decided:
		l.decided(e)
	case journal.Milestone, journal.Event:
	}
}

// at is a time since the life's beginning.
func (l *life) at(t time.Time) *scenario.Span { return span(t.Sub(l.began)) }

// span is a duration in whole microseconds, as durations are drawn.
func span(d time.Duration) *scenario.Span {
	return scenario.Fixed(max(0, d.Round(time.Microsecond)))
}

// median is the usual one.
func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// ScenarioYAML is the scenario of a life as a file.
func ScenarioYAML(r *journal.Record) ([]byte, error) {
	s, err := ScenarioOf(r)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	head := fmt.Sprintf("# What happened to %s/%s, UID %s, from %s on.\n", r.Pod.Namespace, r.Pod.Name, r.Pod.UID, r.Entries[0].At.UTC().Format("2006-01-02 15:04:05 UTC"))
	if r.Left > 0 {
		head += fmt.Sprintf("# %d entries of the journal were given up: what they were about is not here.\n", r.Left)
	}
	return append([]byte(plain.Text(head)), text...), nil
}
