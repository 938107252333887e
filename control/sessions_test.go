package control

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-PROBE-13: a probe's command is told from a client's by what it runs as, its
// variables replaced; a hook's is run as it is written.
func TestOwnCommands(t *testing.T) {
	c := v1.Container{
		Env:            []v1.EnvVar{{Name: "FILE", Value: "/ready"}},
		StartupProbe:   &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}},
		LivenessProbe:  &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"alive"}}}},
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"test", "-f", "$(FILE)"}}}},
		Lifecycle:      &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"rm", "$(FILE)"}}}},
	}
	assert.Deep(t, "", [][]string{{"alive"}, {"test", "-f", "/ready"}, {"rm", "$(FILE)"}}, ownCommands(&c))
}

// TestSessionsBeginOneByOne: in a container one command begins at a time, and nothing is kept of
// a container in which none does, such as one that was restarted since.
func TestSessionsBeginOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions(&v1.Pod{})
		first := assert.Get(s.enter(t.Context(), "a")).Must(t)
		impatient, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("took too long"))
		defer cancel()
		assert.Error(t, "took too long", assert.ErrorOf(s.enter(impatient, "a")), "beside another")
		second := make(chan func(), 1)
		go func() {
			leave, err := s.enter(t.Context(), "a")
			assert.NoError(t, err)
			second <- leave
		}()
		synctest.Wait()
		assert.True(t, len(second) == 0, "two begin in a container")
		first()
		leave := <-second
		other := assert.Get(s.enter(t.Context(), "b")).Must(t)
		other()
		leave()
		assert.True(t, len(s.begun) == 0, "%d containers are kept", len(s.begun))
	})
}
