package cri_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
)

// listener writes down what a stream tells.
type listener struct {
	start time.Time
	calls []string
}

func (l *listener) tell(what string) {
	l.calls = append(l.calls, fmt.Sprintf("%v %s", time.Since(l.start), what))
}

// listen runs a stream until the returned function is called.
func listen(t *testing.T, r *crifake.Runtime) (*listener, func()) {
	l := &listener{start: time.Now()}
	s := &cri.Stream{
		Runtime: r, Log: slog.New(slog.DiscardHandler),
		Event: func(e *runtimeapi.ContainerEventResponse) {
			l.tell("event of " + e.PodSandboxStatus.Metadata.Name)
		},
		Proven: func() { l.tell("proven") },
		Broken: func() { l.tell("broken") },
	}
	return l, assert.Runs(t, s.Run)
}

func runSandbox(t *testing.T, r *crifake.Runtime, name string) string {
	t.Helper()
	out, err := r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Uid: "uid-" + name},
		Labels:   map[string]string{cri.PodUIDLabel: "uid-" + name},
	}})
	assert.Require(t, err == nil, "%v", err)
	return out.PodSandboxId
}

// A stream is proven by its first event, and opened again when it breaks: soon
// if it has given events (A-PLEG-7, A-PLEG-8).
func TestStreamIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crifake.New()
		l, stop := listen(t, r)
		time.Sleep(5 * time.Millisecond)
		runSandbox(t, r, "a") // its events in the middle of 90 ms
		time.Sleep(5 * time.Millisecond)
		r.BreakStreams() // at 100 ms
		time.Sleep(100 * time.Millisecond)
		runSandbox(t, r, "b")
		stop()
		want := []string{
			"50ms proven", "50ms event of a", "50ms event of a",
			"100ms broken",
			"245ms proven", "245ms event of b", "245ms event of b",
		}
		assert.Deep(t, "told", want, l.calls)
	})
}

// A runtime that refuses the stream is asked ever less often, up to once a second.
func TestStreamIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crifake.New()
		r.Fault("fail GetContainerEvents times=8")
		l, stop := listen(t, r)
		time.Sleep(10 * time.Second)
		stop()
		want := []string{
			"0s broken", "20ms broken", "60ms broken", "140ms broken", "300ms broken",
			"620ms broken", "1.26s broken", "2.26s broken", // the next one holds
		}
		assert.Deep(t, "told", want, l.calls)
	})
}

// Run ends with its context, and that is no broken stream.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := listen(t, crifake.New())
		time.Sleep(time.Minute)
		before := time.Now()
		stop()
		assert.Equal(t, 0, time.Since(before), "Run ended after")
		assert.True(t, len(l.calls) == 0, "told %q, want nothing", l.calls)
	})
}
