package timelinetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Begin is when the journals of all records begin.
var Begin = time.Date(2026, 3, 4, 12, 4, 1, 0, time.UTC)

// At is so long after Begin.
func At(offset time.Duration) time.Time { return Begin.Add(offset) }

const ms = time.Millisecond

// Story is a record in the making. What is added need not be in the order of time.
type Story struct {
	pod     journal.Pod
	now     *journal.Now
	living  bool
	entries []journal.Entry
}

// New is a pod with containers; a container's kind is init, sidecar or container.
func New(name string, containers ...journal.Container) *Story {
	return &Story{living: true, pod: journal.Pod{
		UID: "0b6c6c35-5b6c-4b0e-8f0e-" + name, Namespace: "default", Name: name, Node: "vm", Containers: containers,
	}}
}

// Add adds an entry, so long after Begin, and returns what later ones can have as their cause.
func (s *Story) Add(at time.Duration, e journal.Entry) int64 {
	e.ID, e.At = int64(len(s.entries)+1), At(at)
	s.entries = append(s.entries, e)
	return e.ID
}

// Fact adds a fact about a container, or the pod.
func (s *Story) Fact(at time.Duration, name, container string, attempt uint32) int64 {
	return s.Add(at, journal.Entry{Kind: journal.Fact, Name: name, Container: container, Attempt: attempt})
}

// Decided adds a line of the story, about the pod or an instance.
func (s *Story) Decided(at time.Duration, cause int64, attempt uint32, r lifecycle.Report) int64 {
	e := journal.Decision(r)
	e.Cause, e.Attempt = cause, attempt
	return s.Add(at, e)
}

// Shown adds a milestone.
func (s *Story) Shown(at time.Duration, cause int64, e journal.Entry) int64 {
	e.Kind, e.Cause = journal.Milestone, cause
	return s.Add(at, e)
}

// Work adds work from its begin to its answer, which it returns.
func (s *Story) Work(cause int64, begin, end time.Duration, e journal.Entry) int64 {
	begun := s.Begun(cause, begin, e)
	e.Kind, e.Cause = journal.Answered, begun
	return s.Add(end, e)
}

// Begun adds work that has no answer yet.
func (s *Story) Begun(cause int64, begin time.Duration, e journal.Entry) int64 {
	e.Kind, e.Cause, e.Bytes, e.Failure = journal.Begun, cause, 0, nil
	return s.Add(begin, e)
}

// Exit adds the end of an instance, with what was decided about it, which it returns.
func (s *Story) Exit(at time.Duration, cause int64, e journal.Entry, outcome lifecycle.Outcome, after time.Duration) int64 {
	e.Cause = cause
	decided := s.Decided(at, s.Add(at, e), e.Attempt, lifecycle.Report{
		Subject: e.Container, Kind: lifecycle.KindExited, Code: e.Exit.Code, Outcome: outcome, Span: after,
		Because: lifecycle.Because{Kind: lifecycle.BecausePolicy, Policy: "OnFailure"}, Rule: "A-RST-1",
	})
	for _, name := range []string{"ready", "started"} {
		s.Shown(at, decided, journal.Entry{Name: name, Value: "false", Container: e.Container, Attempt: e.Attempt})
	}
	return decided
}

// Record is the story as the journal has it: in the order of time.
func (s *Story) Record() *journal.Record {
	entries := slices.Clone(s.entries)
	slices.SortStableFunc(entries, func(x, y journal.Entry) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID)) })
	ids := map[int64]int64{}
	for i := range entries {
		ids[entries[i].ID] = int64(i + 1)
	}
	for i := range entries {
		entries[i].ID, entries[i].Cause = ids[entries[i].ID], ids[entries[i].Cause]
	}
	return &journal.Record{Pod: s.pod, Now: s.now, Living: s.living, Entries: entries}
}
