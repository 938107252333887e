package pods

import (
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
)

type eventLog struct {
	worker.Sink
	events int
}

// Event implements worker.Sink.
func (s *eventLog) Event(time.Time, lifecycle.RecordEvent) { s.events++ }

// Without a folder of sockets, as on simulated nodes, nothing is kept for the commands of other terminals.
func TestShownWhereItCanBeSeen(t *testing.T) {
	pod := podOf("web")
	for folder, shown := range map[string]bool{"": false, "/run/lifepod": true} {
		to := &eventLog{}
		l, life := &living{shell: &Shell{Config: Config{Local: Local{Sockets: folder}}}}, lifeOf(nil, pod, to)
		life.Worker = &worker.Worker{}
		l.is(roster.API, life)
		l.Life.Event(pod.CreationTimestamp.Time, lifecycle.RecordEvent{Reason: "Started"})
		kept := life.object != nil
		assert.True(t, kept == shown && to.events == 1, "sockets in %q: kept: %t, want %t; %d events were told", folder, kept, shown, to.events)
		if shown && len(life.object.Events()) != 1 {
			t.Errorf("events %v", life.object.Events())
		}
	}
}
