package handler

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// probeRunning is a runtime in which a container main of a pod web runs.
func probeRunning(t *testing.T, commands ...string) (commander *Runner, id string) {
	t.Helper()
	r := crifake.New("image")
	r.Command("main", commands...)
	sandbox := probeMust(r.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"},
	}}))
	id = probeMust(r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId,
		Config:       &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "image"}},
	})).ContainerId
	probeMust(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}))
	return NewRunner(r), id
}

// TestProbeExec: A-PROBE-13, what a command's end means.
func TestProbeExec(t *testing.T) {
	for _, tc := range []struct {
		name, does string
		took       time.Duration // 0: at once
		want       want
	}{
		{name: "success", does: "out=fine", want: want{lifecycle.ProbeSuccess, "fine"}},
		{name: "failure", does: "exit=3 out=a err=b", want: want{lifecycle.ProbeFailure, "ab"}},
		{name: "much output", does: "exit=1 out=" + strings.Repeat("x", 20<<10), want: want{lifecycle.ProbeFailure, strings.Repeat("x", 640) + "+"}},
		{name: "timeout", does: "hang", took: time.Second, want: want{lifecycle.ProbeFailure, `command timed out: "check -v" timed out after 1s`}},
		{name: "can't be run", does: "error=no_such_file", want: want{lifecycle.ProbeError, "failed to exec in container: no such file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := on(v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check", "-v"}}})
				a.Commands, a.ContainerID = probeRunning(t, tc.does)
				began := time.Now()
				got := a.Make(t.Context())
				tc.want.check(t, got)
				if len(got.Output) > 10<<10 {
					t.Errorf("%d bytes of output", len(got.Output))
				}
				assert.Equal(t, tc.took, time.Since(began).Truncate(100*time.Millisecond), "took")
			})
		})
	}
}

// TestExecHeld: A-PROBE-13: of a command that has ended in time the exit code counts, and it is said that a process
// that it left held its output.
func TestExecHeld(t *testing.T) {
	const held = "the command has ended, but a process that it left held its output open for 2s, and was ended"
	want{lifecycle.ProbeWarning, held}.check(t, ended(&HeldError{Timeout: 2 * time.Second}, "fine"))
	want{lifecycle.ProbeFailure, `sick \(` + held + `\)`}.check(t,
		ended(&HeldError{Timeout: 2 * time.Second, Err: &ExitError{Code: 1}}, "sick"))
}

// TestExecIsGivenUp: the attempt ends with its context, at once.
func TestExecIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := on(v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}})
		a.Probe.TimeoutSeconds = 3600
		a.Commands, a.ContainerID = probeRunning(t, "hang")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		a.Make(ctx)
		assert.Equal(t, time.Second, time.Since(began).Truncate(100*time.Millisecond), "took")
	})
}
