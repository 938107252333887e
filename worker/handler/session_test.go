package handler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// TestFind: A-PROBE-13: a client's command is told from a probe's and a hook's by what these run as; in its turn it is the new
// process, whatever it has become, and later the one with its arguments.
func TestFind(t *testing.T) {
	r := NewRunner(nil)
	r.begin(Command{ContainerID: "c", Args: []string{"test", "-f", "/ready"}})
	r.begin(Command{ContainerID: "c", Args: []string{"rm", "$(FILE)"}})
	r.begin(Command{ContainerID: "other", Args: []string{"sleep", "9"}})
	shell := []string{"sh", "-c", "sleep 9"}
	id, old := pidfd.ID{PID: 7, StartTicks: 1}, pidfd.ID{PID: 6, StartTicks: 1}
	for _, tc := range []struct {
		name  string
		alone bool
		p     process
		found bool
	}{
		{"its arguments", true, process{ID: id, outside: true, args: shell}, true},
		{"another program by now", true, process{ID: id, outside: true, args: []string{"sleep", "9"}}, true},
		{"its arguments, after its turn", false, process{ID: id, outside: true, args: shell}, true},
		{"another program, after its turn", false, process{ID: id, outside: true, args: []string{"sleep", "9"}}, false},
		{"a probe's", true, process{ID: id, outside: true, args: []string{"test", "-f", "/ready"}}, false},
		{"a hook's", true, process{ID: id, outside: true, args: []string{"rm", "$(FILE)"}}, false},
		{"the runtime's own yet", true, process{ID: id, outside: true, args: []string{"runc", "init"}}, false},
		{"begun from inside", true, process{ID: id, args: shell}, false},
		{"there before", true, process{ID: old, outside: true, args: shell}, false},
		{"ended", true, process{ID: id, outside: true, args: shell, ended: true}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &running{Command: Command{ContainerID: "c", Args: shell}}
			s := &Session{runner: r, command: c, view: &processView{recent: []process{tc.p}}, before: []pidfd.ID{old}}
			_, _, s.view.others = r.commandsBeside(c)
			got := s.find(tc.alone)
			assert.True(t, (got != nil) == tc.found && (got == nil || *got == id), "found %v, want that: %v", got, tc.found)
		})
	}
}

// TestSessionsBeginOneByOne: in a container one command begins at a time, and nothing is kept of
// a container in which none does, such as one that was restarted since.
func TestSessionsBeginOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRunner(nil)
		first := assert.Get(r.enter(t.Context(), "a")).Must(t)
		impatient, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("took too long"))
		defer cancel()
		assert.Error(t, "took too long", assert.ErrorOf(r.enter(impatient, "a")), "beside another")
		second := make(chan func(), 1)
		go func() {
			leave, err := r.enter(t.Context(), "a")
			assert.NoError(t, err)
			second <- leave
		}()
		synctest.Wait()
		assert.True(t, len(second) == 0, "two begin in a container")
		first()
		leave := <-second
		other := assert.Get(r.enter(t.Context(), "b")).Must(t)
		other()
		leave()
		assert.True(t, len(r.beginning) == 0, "%d containers are kept", len(r.beginning))
	})
}
