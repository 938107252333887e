package sim_test

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim"
	"github.com/lifepod/lifepod/sim/scenario"
)

// readBack is the scenario of a life with these entries as it is read, of any pod or of one with the container main.
func readBack(t *testing.T, entries []journal.Entry) *scenario.Scenario {
	t.Helper()
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: 'example.com/web:1', livenessProbe: {tcpSocket: {port: 80}}}]}}"
	set := assert.Get(manifest.Read([]manifest.Source{{Name: "pod.yaml", Data: []byte(pod)}}, manifest.Options{})).Must(t)
	for i := range entries {
		entries[i].ID = int64(i + 1)
	}
	return recorded(t, set, &journal.Record{Entries: entries, Pod: journal.Pod{Containers: []journal.Container{{Name: "main", Image: "example.com/web:1"}}}})
}

func at(seconds float64) time.Time {
	return sim.Began.Add(time.Duration(seconds * float64(time.Second)))
}

func probed(seconds float64, value, failures string) journal.Entry {
	return journal.Entry{
		At: at(seconds), Kind: journal.Fact, Name: "Probed", Container: "main", Value: value,
		Detail: map[string]string{journal.DetailProbe: "liveness", journal.DetailFailures: failures},
	}
}

// Answers are in the order of time however close together they came, and none is after the instance's end.
func TestAnswersAreInOrder(t *testing.T) {
	s := readBack(t, []journal.Entry{
		{At: at(1), Kind: journal.Fact, Name: "ContainerRunning", Container: "main"},
		probed(2, "failure", "1"), probed(2.9, "failure", "1"), probed(3.05, "success", ""), probed(3.2, "failure", "1"),
		{At: at(4), Kind: journal.Fact, Name: "ContainerExited", Container: "main", Exit: &journal.Exit{Code: 1, FinishedAt: at(4)}},
		probed(8, "success", ""),
	})
	var got []string
	for _, a := range s.Containers["main"].Runs[0].Probes.Liveness {
		got = append(got, a.From.String()+" "+a.Answer)
	}
	want := []string{"500ms failure", "1.3s success", "1.6s failure", "2s success", "2.15s failure"}
	assert.Deep(t, "answers", want, got)
}

// An image that was pulled after it had been looked for was not there, or the pod might not use it: else nothing pulls it.
func TestPulledImageIsNotPresent(t *testing.T) {
	s := readBack(t, []journal.Entry{
		{At: at(0), Kind: journal.Begun, Name: "InspectImage", Container: "main"},
		{At: at(0), Kind: journal.Answered, Name: "InspectImage", Container: "main", Cause: 1, Bytes: 5},
		{At: at(1), Kind: journal.Begun, Name: "PullImage", Container: "main"},
		{At: at(3), Kind: journal.Answered, Name: "PullImage", Container: "main", Cause: 3, Bytes: 5},
	})
	i := s.Images["example.com/web:1"]
	assert.True(t, !i.IsPresent("example.com/web:1") && i.Pull.String() == "2s",
		"present %t, pull %v; want an image that is pulled in 2s", *i.Present, i.Pull)
}

// Nothing is said of a pod but that it was refused, and a container that was asked for twice is added once.
func TestRecordedEventsCanBeRead(t *testing.T) {
	refused := readBack(t, []journal.Entry{
		{At: at(0), Kind: journal.Fact, Name: "Rejected", Because: "OutOfcpu", What: "no CPU is left"},
		{At: at(1), Kind: journal.Fact, Name: "StopRequested"},
	})
	assert.True(t, refused.Refuse != nil && refused.Refuse.Reason == "OutOfcpu" && refused.Events == nil, "the refused pod: %+v", refused)
	added := journal.Entry{At: at(1), Kind: journal.Fact, Name: "EphemeralContainerAdded", Container: "debug", Image: "example.com/debug:1"}
	s := readBack(t, []journal.Entry{{At: at(0), Kind: journal.Fact, Name: "Accepted"}, added, added})
	assert.True(t, len(s.Events) == 1, "events: %+v", s.Events)
}
