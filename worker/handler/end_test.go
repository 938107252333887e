package handler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// A-PROBE-13: a command that has timed out on a runtime that hangs, and is then
// not wanted any more, holds up nobody.
func TestRunNotWantedAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crifake.New("image")
		r.Command("main", "hang")
		r.Fault("hang ContainerStatus")
		sandbox := assert.Get(r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"},
		}})).Must(t)
		created := assert.Get(r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
			PodSandboxId: sandbox.PodSandboxId,
			Config:       &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "image"}},
		})).Must(t)
		assert.Must(t, assert.ErrorOf(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: created.ContainerId})))
		const timeout, wanted = time.Second, 3 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), wanted)
		defer cancel()
		began := time.Now()
		_, err := NewRunner(r).Run(ctx, Command{ContainerID: created.ContainerId, Args: []string{"check"}, Timeout: timeout})
		took := time.Since(began)
		assert.True(t, err != nil && took == wanted+cancelTime, "%v, took %v, want %v", err, took, wanted+cancelTime)
	})
}

// TestHeldBy: A-HOOK-2: a command is held if another process has its output, and its own, known by its arguments or
// not, is not there any more.
func TestHeldBy(t *testing.T) {
	c := &running{Command: Command{Args: []string{"hook"}}}
	orphan := process{ID: pidfd.ID{PID: 41}, session: 40, writes: []string{"c"}}
	leader := process{ID: pidfd.ID{PID: 40}, session: 40, entered: true, args: c.Args, writes: []string{"c"}}
	became := leader
	became.args = []string{"sleep", "60"}
	silent := leader
	silent.writes = nil
	for _, tc := range []struct {
		name   string
		recent []process
		want   int // 0: it is not
	}{
		{"another process has its output", []process{{ID: pidfd.ID{PID: 42}, session: 42}, orphan}, 41},
		{"it runs", []process{leader, orphan}, 0},
		{"it has become another program", []process{became, orphan}, 0},
		{"it runs without its output", []process{silent, orphan}, 0},
		{"nothing has its output", nil, 0},
		{"of several commands", []process{orphan, {ID: pidfd.ID{PID: 51}, session: 50, writes: []string{"d"}}}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &processView{sessions: map[int]bool{}, recent: tc.recent}
			s.meet([]*running{c}, false, nil)
			got := 0
			if by := s.heldBy(c); by != nil {
				got = by.PID
			}
			assert.Equal(t, tc.want, got, "held by")
		})
	}
}
