package lifecycle

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

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
		tr.feed(tr.runtime.end(t, tr.runtime.idOf(t, "a"), ContainerExited{ExitCode: 1, FinishedAt: tr.now}))
	}
	exits()
	if got := spared(); !slices.Equal(got, []uint32{0}) {
		t.Errorf("after the first exit attempts %d are removed, want 0", got)
	}
	tr = playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "a"}}})
	for range 2 {
		exits()
		tr.advance(t, (time.Minute).String())
	}
	exits()
	if got := spared(); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("after the third exit attempts %d are removed, want 1 and 2", got)
	}
}

// With the next instance the one before the last is removed, and its log, which the attempt names (B-GC-2).
func TestRemovedInstanceIsThatOfItsAttempt(t *testing.T) {
	tr := playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{Name: "a"}}})
	for range 2 {
		tr.settle(t, nil)
		tr.feed(tr.runtime.end(t, tr.runtime.idOf(t, "a"), ContainerExited{ExitCode: 1, FinishedAt: tr.now}))
		tr.advance(t, time.Minute.String())
	}
	tr.settle(t, []string{"RemoveContainer"})
	if len(tr.pending) != 1 {
		t.Fatalf("asked for %v, want one removal", tr.pending)
	}
	if remove := tr.pending[0].(RemoveContainer); remove.ContainerID != "a-0" || remove.Attempt != 0 {
		t.Errorf("%s is removed as attempt %d, want a-0 as attempt 0", remove.ContainerID, remove.Attempt)
	}
}
