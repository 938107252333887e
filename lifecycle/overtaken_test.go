package lifecycle

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A checkpoint is of no use once another agent has made a sandbox or an instance
// that it doesn't know of (B-RST-1).
func TestOvertaken(t *testing.T) {
	ended := &v1.ContainerStateTerminated{ExitCode: 1}
	checkpoint := func(position string, exit *v1.ContainerStateTerminated) Checkpoint {
		return Checkpoint{
			Sandbox:    SandboxCheckpoint{Attempt: 1},
			Containers: []ContainerCheckpoint{{Name: "main", RestartCount: 2, Instance: InstanceCheckpoint{Position: position, Exit: exit}}},
		}
	}
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
		{"as it was", checkpoint("running", nil), seen(1, 2), false},
		{"nothing left", checkpoint("running", nil), Observed{}, false},
		{"an older one", checkpoint("running", nil), seen(0, 1), false},
		{"the next, which was being created", checkpoint("creating", ended), seen(1, 3), false},
		{"the next, which was not", checkpoint("exited", ended), seen(1, 3), true},
		{"the one after that", checkpoint("creating", ended), seen(1, 4), true},
		{"a newer one beside what ran", checkpoint("running", nil), seen(1, 3), true},
		{"a newer sandbox", checkpoint("running", nil), seen(2, 2), true},
		{"another container", checkpoint("running", nil), Observed{Containers: []ObservedContainer{{Name: "x", Attempt: 9}}}, false},
	} {
		if got := c.of.Overtaken(c.seen); got != c.want {
			t.Errorf("%s: Overtaken = %t, want %t", c.name, got, c.want)
		}
	}
}
