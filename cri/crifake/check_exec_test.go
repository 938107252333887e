package crifake

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// execEnds: a command in a container leaves its code and both outputs (A-PROBE-13).
func execEnds(t *testing.T, b *box) {
	out, err := b.exec(b.ctx, b.run(Ends), Speaks, 600)
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr := strings.TrimSpace(string(out.Stdout)), strings.TrimSpace(string(out.Stderr)); out.ExitCode != 3 || stdout != "out" || stderr != "err" {
		t.Errorf("exit code %d, %q, %q, want 3, out, err", out.ExitCode, stdout, stderr)
	}
}

// execTimesOut: a command is killed when its timeout has passed, which is not a
// code but an error of its own (A-PROBE-13).
func execTimesOut(t *testing.T, b *box) {
	if _, err := b.exec(b.ctx, b.run(Ends), Hangs, 1); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
}

// execIsGivenUp: a call that is given up answers at once.
func execIsGivenUp(t *testing.T, b *box) {
	id := b.run(Ends)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := b.exec(ctx, id, Hangs, 600)
		ended <- err
	}()
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("error %v, want Canceled", err)
	}
}

// execEndsWithContainer: a command does not outlive its container, and none is
// run in one that has ended.
func execEndsWithContainer(t *testing.T, b *box) {
	id := b.run(Ends)
	ended := make(chan *runtimeapi.ExecSyncResponse, 1)
	go func() {
		out, _ := b.exec(b.ctx, id, Hangs, 0)
		ended <- out
	}()
	assert.NoError(t, b.stop(id, 600))
	if out := <-ended; out != nil && out.ExitCode == 0 {
		t.Error("the command succeeded")
	}
	b.exited(id)
	if _, err := b.exec(b.ctx, id, Speaks, 600); err == nil {
		t.Error("a command was run in a container that has ended")
	}
}

func (b *box) exec(ctx context.Context, id string, p CricheckProgram, seconds int64) (*runtimeapi.ExecSyncResponse, error) {
	return b.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: b.Command(p), Timeout: seconds})
}

// events: the start and the exit of a container are reported, each with the status
// of its sandbox and of the container.
func events(t *testing.T, b *box) {
	stream, err := b.Runtime.GetContainerEvents(b.ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan *runtimeapi.ContainerEventResponse, 100)
	go func() {
		defer close(heard)
		for {
			event, err := stream.Recv()
			if err != nil {
				return
			}
			heard <- event
		}
	}()
	attempt := b.provoke(heard)
	id := b.create(Fails, attempt)
	b.start(id)
	b.hear(heard, id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, nil)
	b.hear(heard, id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, func(s *runtimeapi.ContainerStatus) {
		if s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != 3 || s.Reason != "Error" || s.FinishedAt == 0 {
			t.Errorf("the event of the exit has %v", s)
		}
	})
}

// provoke causes events until one is heard: those before the stream was
// registered are lost. It returns the next attempt that is free.
func (b *box) provoke(heard <-chan *runtimeapi.ContainerEventResponse) uint32 {
	for attempt := uint32(0); ; attempt++ {
		b.exited(b.startNew(Succeeds, attempt))
		select {
		case <-heard:
			return attempt + 1
		case <-b.ctx.Done():
			b.Fatal("no event is ever heard")
		default:
		}
	}
}

func (b *box) startNew(p CricheckProgram, attempt uint32) string {
	id := b.create(p, attempt)
	b.start(id)
	return id
}

// hear waits for an event of the container and looks at the status it brings.
func (b *box) hear(heard <-chan *runtimeapi.ContainerEventResponse, id string, kind runtimeapi.ContainerEventType, look func(*runtimeapi.ContainerStatus)) {
	b.Helper()
	for event := range heard {
		if event.ContainerId != id || event.ContainerEventType != kind {
			continue
		}
		if event.PodSandboxStatus.GetId() != b.id || event.PodSandboxStatus.GetMetadata().GetUid() != b.config.Metadata.Uid {
			b.Errorf("%s has sandbox %v", kind, event.PodSandboxStatus)
		}
		for _, s := range event.ContainersStatuses {
			if s.Id == id {
				if look != nil {
					look(s)
				}
				return
			}
		}
		b.Errorf("%s has no status of its container", kind)
		return
	}
	b.Fatalf("%s is never heard", kind)
}
