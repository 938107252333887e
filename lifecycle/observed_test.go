package lifecycle

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A checkpoint is of no use once another agent has created a sandbox or an instance
// unknown to it (B-RST-1).
func TestOvertaken(t *testing.T) {
	ended := &v1.ContainerStateTerminated{ExitCode: 1}
	checkpoint := func(at position, exit *v1.ContainerStateTerminated) Checkpoint {
		return Checkpoint{
			Sandbox:    sandbox{Attempt: 1},
			Containers: []container{{Name: "main", history: history{RestartCount: 2}, instance: instance{Position: at, Exit: exit}}},
		}
	}
	inDoubt := checkpoint(exited, ended)
	inDoubt.Containers[0].NextBegun = true
	seen := func(sandbox, attempt uint32) Observed {
		return Observed{
			Sandboxes:  []ObservedSandbox{{Attempt: sandbox}},
			Containers: []ObservedContainer{{Name: "main", Attempt: attempt}},
		}
	}
	for _, c := range []struct {
		name string
		of   Checkpoint
		seen Observed
		want bool
	}{
		{"as it was", checkpoint(running, nil), seen(1, 2), false},
		{"nothing left", checkpoint(running, nil), Observed{}, false},
		{"an older one", checkpoint(running, nil), seen(0, 1), false},
		{"the next, which was being created", checkpoint(creating, ended), seen(1, 3), false},
		{"the next, which was not", checkpoint(exited, ended), seen(1, 3), true},
		{"the next, of which a create is in doubt", inDoubt, seen(1, 3), false},
		{"the one after what is in doubt", inDoubt, seen(1, 4), true},
		{"the one after that", checkpoint(creating, ended), seen(1, 4), true},
		{"a newer one beside what ran", checkpoint(running, nil), seen(1, 3), true},
		{"a newer sandbox", checkpoint(running, nil), seen(2, 2), true},
		{"another container", checkpoint(running, nil), Observed{Containers: []ObservedContainer{{Name: "x", Attempt: 9}}}, false},
	} {
		got := c.of.Overtaken(c.seen)
		assert.True(t, got == c.want, "%s: Overtaken = %t, want %t", c.name, got, c.want)
	}
}

// A create whose caller was killed may take effect so late that one lifepod looks for it
// in vain and only the next finds it. The instance is the pod's own and is started;
// nothing is created twice (B-RST-1, A-CST-11).
func TestLateCreateIsNotAnothers(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	tr.feed(tr.runtime.end(t, "a-0", ContainerExited{ExitCode: 1, Reason: "Error", FinishedAt: tr.now}))
	tr.settle(t, []string{"CreateContainer"})
	create := tr.takePending(t, "CreateContainer")
	resume := func() {
		tr.now = tr.now.Add(time.Second)
		from := throughJSON(t, tr.m.Checkpoint())
		assert.Require(t, !from.Overtaken(tr.runtime.snapshot(Result{}, tr.now)), "the pod counts as another agent's")
		restored := assert.Get(Restore(tr.m.pod, tr.m.options, from)).Must(t)
		tr.m, tr.pending = restored, nil
		tr.feed(Resumed{})
		tr.settle(t, []string{"CreateContainer"})
	}
	resume()
	tr.runtime.carryOut(create, tr.now)
	resume()
	if got := tr.m.Status().ContainerStatuses[0]; got.State.Running == nil || got.RestartCount != 1 || got.ContainerID != "containerd://a-1" {
		t.Errorf("restarts %d, %s is %v; want 1, a-1 running", got.RestartCount, got.ContainerID, got.State)
	}
}

// A relist that began before a snapshot, and ends after it, says nothing of the sandbox that was
// adopted by the snapshot: the pod keeps it.
func TestOlderSnapshotTakesNothingAway(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, []string{"CreateSandbox"})
	create := tr.takePending(t, "CreateSandbox")
	tr.feed(AnswerTo(create, &Failure{Class: Uncertain, Message: "deadline exceeded"}))
	tr.now = tr.now.Add(time.Second)
	relist := tr.runtime.snapshot(Result{}, tr.now)
	tr.now = tr.now.Add(time.Second)
	tr.runtime.carryOut(create, tr.now)
	tr.settle(t, []string{"CreateContainer"})
	tr.feed(relist)
	tr.settle(t, nil)
	got := tr.m.Status().ContainerStatuses[0]
	assert.True(t, got.State.Running != nil && got.RestartCount == 0, "restarts %d, it is %v; want 0, running", got.RestartCount, got.State)
}

// A container whose removal was asked for is not adopted by the next lifepod: the removal may
// still come (B-RST-22).
func TestRemovedStrayIsNotAdopted(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, []string{"CreateContainer"})
	lost := tr.takePending(t, "CreateContainer")
	tr.feed(AnswerTo(lost, &Failure{Class: Uncertain, Message: "deadline exceeded"}))
	tr.settle(t, nil) // nothing is there
	tr.runtime.carryOut(lost, tr.now)
	tr.runtime.Containers[0].ID = "late"
	tr.now = tr.now.Add(time.Millisecond)
	tr.feed(tr.runtime.snapshot(Result{}, tr.now))
	remove := tr.takePending(t, "RemoveContainer a late") // what came late
	tr.now, tr.pending = later(tr.now, tr.wakeAt), nil
	tr.feed(Woke{})
	tr.settle(t, []string{"CreateContainer"})
	assert.Require(t, len(tr.pending) == 1, "%v, want the second create", tr.pending)

	next := assert.Get(Restore(tr.m.pod, tr.m.options, throughJSON(t, tr.m.Checkpoint()))).Must(t)
	tr.m, tr.pending = next, nil
	tr.feed(Resumed{})
	tr.settle(t, []string{"RemoveContainer"})
	tr.advance(t, "1s")
	tr.settle(t, []string{"RemoveContainer"})
	tr.runtime.carryOut(remove, tr.now)
	tr.now = tr.now.Add(time.Millisecond)
	tr.feed(tr.runtime.snapshot(Result{}, tr.now))
	tr.advance(t, "10s") // the name was taken
	tr.settle(t, nil)
	got := tr.m.Status().ContainerStatuses[0]
	assert.True(t, got.State.Running != nil && got.RestartCount == 0, "restarts %d, it is %v; want 0, running", got.RestartCount, got.State)
	assert.True(t, len(tr.m.kept.Strays) == 0, "%v are gone from the runtime, and remembered", tr.m.kept.Strays)
}
