package lifecycle

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestMaxRestarts(t *testing.T) {
	for text, want := range map[string]struct {
		n       int
		window  time.Duration
		refused bool
	}{
		"0":           {n: 0},
		"10000":       {n: 10_000},
		"5 in 10m":    {n: 5, window: 10 * time.Minute},
		"5 in 1ns":    {n: 5, window: 1},
		" 5  in  1h ": {n: 5, window: time.Hour},
		"-1":          {refused: true},
		"10001":       {refused: true},
		"5 in 0s":     {refused: true},
		"5 in -1m":    {refused: true},
		"5 in 10":     {refused: true},
		"five":        {refused: true},
	} {
		t.Run(text, func(t *testing.T) {
			n, window, err := parseMaxRestarts(text)
			assert.True(t, n == want.n && window == want.window && (err != nil) == want.refused,
				"%d restarts in %v, error %v; want %d in %v, refused: %t", n, window, err, want.n, want.window, want.refused)
		})
	}
}

// The logs of dead containers go with them, and a log is named by its attempt (B-GC-1, B-GC-3).
func TestSparedInstancesAreThoseOfTheirAttempts(t *testing.T) {
	tr := playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "a"}}})
	spared := func() []uint32 {
		t.Helper()
		var attempts []uint32
		for _, e := range tr.m.Step(Event{At: tr.now, Fact: SpaceNeeded{}}) {
			if remove, is := e.(RemoveContainer); is {
				attempts = append(attempts, remove.Attempt)
			}
		}
		return attempts
	}
	exits := func() {
		tr.settle(t, nil)
		tr.feed(tr.runtime.end(t, tr.runtime.newest(t, "a").ID, ContainerExited{ExitCode: 1, FinishedAt: tr.now}))
	}
	exits()
	got := spared()
	assert.True(t, slices.Equal(got, []uint32{0}), "after the first exit attempts %d are removed, want 0", got)
	tr = playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "a"}}})
	for range 2 {
		exits()
		tr.advance(t, (time.Minute).String())
	}
	exits()
	got = spared()
	assert.True(t, slices.Equal(got, []uint32{1, 2}), "after the third exit attempts %d are removed, want 1 and 2", got)
}

// With the next instance the one before the last is removed, and its log, which the attempt names (B-GC-2).
func TestRemovedInstanceIsThatOfItsAttempt(t *testing.T) {
	tr := playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "a"}}})
	for range 2 {
		tr.settle(t, nil)
		tr.feed(tr.runtime.end(t, tr.runtime.newest(t, "a").ID, ContainerExited{ExitCode: 1, FinishedAt: tr.now}))
		tr.advance(t, time.Minute.String())
	}
	tr.settle(t, []string{"RemoveContainer"})
	assert.Require(t, len(tr.pending) == 1, "asked for %v, want one removal", tr.pending)
	remove := tr.pending[0].(RemoveContainer)
	assert.True(t, remove.ContainerID == "a-0" && remove.Attempt == 0, "%s is removed as attempt %d, want a-0 as attempt 0", remove.ContainerID, remove.Attempt)
}
