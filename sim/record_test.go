package sim_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/command"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// The life of a scenario that was recorded has the same milestones at the same times.
func TestRecordedLifeIsTheSame(t *testing.T) {
	scenarios, err := filepath.Glob("../examples/scenarios/*.yaml")
	assert.Require(t, err == nil && len(scenarios) >= 12, "%d scenarios, %v", len(scenarios), err)
	manifests := map[string]string{"stuck-twice.yaml": "ml-worker.yaml", "fragile.yaml": "crashloop.yaml"}
	for _, path := range scenarios {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			of := name
			if other := manifests[name]; other != "" {
				of = other
			}
			in := assert.Get(command.Files{Manifests: []string{"../examples/" + of}, Scenario: path}.Read()).Must(t)
			first := sim.Run(in.Set.Pod, sim.Options{Scenario: in.Scenario, Seed: 1, Journal: true})
			again := sim.Run(in.Set.Pod, sim.Options{Scenario: recorded(t, in.Set, first.Record()), Seed: 1})
			assert.Deep(t, "the life (-) and what was recorded of it (+)", recordStoryOf(first), recordStoryOf(again))
		})
	}
}

// An instance that ended in time is not killed because the machine learned of it late, and one
// whose exit was found by a snapshot has ended, too.
func TestExits(t *testing.T) {
	at := func(seconds int) time.Time { return sim.Began.Add(time.Duration(seconds) * time.Second) }
	stop := journal.Entry{ID: 2, At: at(5), Kind: journal.Begun, Name: "StopContainer", Container: "main", Detail: map[string]string{journal.DetailTimeout: "2"}}
	exit := func(code int32, finished int) journal.Entry {
		return journal.Entry{ID: 3, Cause: 2, At: at(9), Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: &journal.Exit{Code: code, FinishedAt: at(finished)}}
	}
	decided := func(code int32, reason string) journal.Entry {
		e := journal.Decision(lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: code, Reason: reason})
		e.ID, e.At = 3, at(9)
		return e
	}
	for name, c := range map[string]struct {
		then []journal.Entry
		want scenario.Run
	}{
		"in time":           {[]journal.Entry{stop, exit(0, 6)}, scenario.Run{Stop: &scenario.Stop{After: scenario.Fixed(time.Second), Exit: new(int32(0))}}},
		"killed":            {[]journal.Entry{stop, exit(137, 7)}, scenario.Run{Stop: &scenario.Stop{Ignore: true}}},
		"seen by snapshot":  {[]journal.Entry{decided(3, "Error")}, scenario.Run{Run: scenario.Fixed(8 * time.Second), Exit: new(int32(3))}},
		"the node rebooted": {[]journal.Entry{decided(255, "Unknown")}, scenario.Run{}},
	} {
		entries := append([]journal.Entry{{ID: 1, At: at(1), Kind: journal.Fact, Name: "ContainerRunning", Container: "main"}}, c.then...)
		s := assert.Get(sim.ScenarioOf(&journal.Record{Entries: entries})).Must(t)
		got := s.Containers["main"].Runs[0]
		if got.Run.Forever() {
			got.Run = nil
		}
		assert.Deep(t, name, c.want, got, cmp.Comparer(func(a, b *scenario.Span) bool { return a == b || a != nil && b != nil && a.String() == b.String() }))
	}
	assert.Fails(t, assert.ErrorOf(sim.ScenarioOf(&journal.Record{})), "a life of which nothing is known has a scenario")
}

// recorded is the scenario of a life, written and read.
func recorded(t *testing.T, set *manifest.Set, r *journal.Record) *scenario.Scenario {
	t.Helper()
	text := assert.Get(sim.ScenarioYAML(r)).Must(t)
	s, err := file.Read(manifest.Source{Name: "recorded.yaml", Data: text}, set.Pod)
	assert.Require(t, err == nil, "%v\n%s", err, text)
	return s
}

func recordStoryOf(l *sim.Life) (list []string) {
	for _, line := range l.Story {
		list = append(list, fmt.Sprintf("+%.3f %s", line.At.Seconds(), line.Report))
	}
	return list
}

// An agent learns of a delete by the pod's object, which it may be told of more than once.
func TestDeletedInTheAPI(t *testing.T) {
	at := func(seconds int) time.Time { return sim.Began.Add(time.Duration(seconds) * time.Second) }
	updated := func(id int64, seconds int, detail map[string]string) journal.Entry {
		return journal.Entry{ID: id, At: at(seconds), Kind: journal.Fact, Name: "PodUpdated", Detail: detail}
	}
	s := assert.Get(sim.ScenarioOf(&journal.Record{Entries: []journal.Entry{
		{ID: 1, At: at(0), Kind: journal.Fact, Name: "Accepted"},
		updated(2, 3, nil),
		updated(3, 5, map[string]string{journal.DetailGrace: "7"}),
		updated(4, 6, map[string]string{journal.DetailGrace: "6"}),
	}})).Must(t)
	want := []scenario.Event{{At: scenario.Fixed(5 * time.Second), Delete: &scenario.Delete{GraceSeconds: new(int64(7))}}}
	assert.Deep(t, "", want, s.Events, cmp.Comparer(func(a, b *scenario.Span) bool { return a == b || a != nil && b != nil && a.String() == b.String() }))
}
