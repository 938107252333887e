package crifake

import (
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// events: the start and the exit of a container are reported, each with the status
// of its sandbox and of the container.
func events(t *testing.T, target Target) {
	b := newBox(t, target)
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
