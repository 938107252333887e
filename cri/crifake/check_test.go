package crifake

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Check is one thing that lifepod relies on.
type Check struct {
	Name string
	run  func(*testing.T, *box)
}

// Run does it in a sandbox of its own.
func (c Check) Run(t *testing.T, target Target) { c.run(t, newBox(t, target)) }

// Checks are all of them.
var Checks = []Check{
	{"Exits", exits},
	{"StartError", startError},
	{"Events", events},
	{"StopSignal", stopSignal},
	{"StopKills", stopKills},
	{"SecondStopIsFaster", secondStopIsFaster},
	{"ExecEnds", execEnds},
	{"ExecTimesOut", execTimesOut},
	{"ExecIsGivenUp", execIsGivenUp},
	{"ExecEndsWithContainer", execEndsWithContainer},
	{"StopSandbox", stopSandbox},
	{"RemoveSandbox", removeSandbox},
	{"Unknown", unknown},
	{"SameAttempt", sameAttempt},
}

// exits: a process that ends by itself leaves its code, a reason, and its times.
func exits(t *testing.T, b *box) {
	for attempt, test := range []struct {
		program CricheckProgram
		code    int32
		reason  string
	}{{Succeeds, 0, "Completed"}, {Fails, 3, "Error"}} {
		id := b.create(test.program, uint32(attempt))
		if s := b.status(id); s.State != runtimeapi.ContainerState_CONTAINER_CREATED || s.Metadata.Attempt != uint32(attempt) {
			t.Errorf("after its creation: state %s, attempt %d", s.State, s.Metadata.Attempt)
		}
		b.start(id)
		s := b.exited(id)
		if s.ExitCode != test.code || s.Reason != test.reason {
			t.Errorf("exit code %d, reason %q, want %d, %q", s.ExitCode, s.Reason, test.code, test.reason)
		}
		// containerd notes the start when its call returns: a process may have ended before
		if s.StartedAt == 0 || s.FinishedAt == 0 {
			t.Errorf("started at %d, finished at %d", s.StartedAt, s.FinishedAt)
		}
	}
}

// startError: what can't be started is kept as exited, with the reason StartError (A-CST-9).
func startError(t *testing.T, b *box) {
	id := b.create(Absent, 0)
	if _, err := b.Runtime.StartContainer(b.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
		t.Error("a program that is not there was started")
	}
	s := b.status(id)
	if s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.Reason != "StartError" || s.ExitCode != 128 || s.Message == "" {
		t.Errorf("state %s, reason %q, exit code %d, message %q, want exited, StartError, 128 and a message",
			s.State, s.Reason, s.ExitCode, s.Message)
	}
}

// stopSignal: the stop signal comes first, and StopContainer waits for the end
// that it brings about.
func stopSignal(t *testing.T, b *box) {
	id := b.run(Ends)
	assert.Must(t, b.stop(id, 600))
	assert.Equal(t, 7, b.exited(id).ExitCode, "exit code")
	assert.NoError(t, b.stop(id, 600), "stop it again")
}

// stopKills: when the timeout has passed the container is killed.
func stopKills(t *testing.T, b *box) {
	id := b.run(IgnoresEnd)
	assert.Must(t, b.stop(id, 1))
	assert.Equal(t, 137, b.exited(id).ExitCode, "exit code")
}

// secondStopIsFaster: a second StopContainer with a smaller timeout need not
// wait for the first, and ends it, too (B-WRK-8).
func secondStopIsFaster(t *testing.T, b *box) {
	id := b.run(IgnoresEnd)
	first := make(chan error, 1)
	go func() { first <- b.stop(id, 600) }()
	b.untilSaid("told")
	assert.Must(t, b.stop(id, 1))
	assert.Equal(t, 137, b.exited(id).ExitCode, "exit code")
	assert.NoError(t, <-first, "the first StopContainer")
}

// stopSandbox: a stopped sandbox is not ready, and nothing in it runs.
func stopSandbox(t *testing.T, b *box) {
	id := b.run(IgnoresEnd)
	if s := b.sandboxStatus(); s.State != runtimeapi.PodSandboxState_SANDBOX_READY {
		t.Errorf("a new sandbox is %s", s.State)
	}
	assert.Must(t, assert.ErrorOf(b.Runtime.StopPodSandbox(b.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: b.id})))
	if s := b.sandboxStatus(); s.State != runtimeapi.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("a stopped sandbox is %s", s.State)
	}
	if s := b.status(id); s.State != runtimeapi.ContainerState_CONTAINER_EXITED {
		t.Errorf("a container in it is %s", s.State)
	}
}

func (b *box) sandboxStatus() *runtimeapi.PodSandboxStatus {
	b.Helper()
	out, err := b.Runtime.PodSandboxStatus(b.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: b.id})
	if err != nil {
		b.Fatal(err)
	}
	return out.Status
}

// removeSandbox: with a sandbox go the containers in it.
func removeSandbox(t *testing.T, b *box) {
	id := b.create(Succeeds, 0)
	b.start(id)
	b.exited(id)
	b.remove(b.id)
	list, err := b.Runtime.ListContainers(b.ctx, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: b.config.Labels},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Containers) > 0 {
		t.Errorf("left behind: %v", list.Containers)
	}
	wantNotFound(b, id)
}

// unknown: what is not there has no status, and is stopped and removed without an error.
func unknown(t *testing.T, b *box) {
	const id = "0000000000000000000000000000000000000000000000000000000000000000"
	wantNotFound(b, id)
	if _, err := b.Runtime.PodSandboxStatus(b.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id}); status.Code(err) != codes.NotFound {
		t.Errorf("status of an unknown sandbox: %v, want NotFound", err)
	}
	if _, err := b.Runtime.StartContainer(b.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); status.Code(err) != codes.NotFound {
		t.Errorf("start of an unknown container: %v, want NotFound", err)
	}
	assert.NoError(t, b.stop(id, 1), "stop an unknown container")
	assert.NoError(t, assert.ErrorOf(b.Runtime.RemoveContainer(b.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})), "remove an unknown container")
	b.remove(id)
}

func wantNotFound(b *box, id string) {
	b.Helper()
	if _, err := b.Runtime.ContainerStatus(b.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id}); status.Code(err) != codes.NotFound {
		b.Errorf("status of an unknown container: %v, want NotFound", err)
	}
}

// sameAttempt: a name and attempt can be had once.
func sameAttempt(t *testing.T, b *box) {
	b.create(Succeeds, 0)
	if _, err := b.Runtime.CreateContainer(b.ctx, b.request(Succeeds, 0)); err == nil {
		t.Error("two containers of one name and attempt")
	}
	b.create(Succeeds, 1)
	if second, err := b.Runtime.RunPodSandbox(b.ctx, &runtimeapi.RunPodSandboxRequest{Config: b.config}); err == nil {
		t.Error("two sandboxes of one name and attempt")
		b.remove(second.PodSandboxId)
	}
}
