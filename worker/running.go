package worker

import (
	"context"
	"fmt"
	"runtime/debug"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// describe translates what the runtime has of the pod into the core's types.
func (h *executor) describe() cri.Describe {
	return cri.Describe{Exit: h.describeExit, Running: runningFact}
}

// reportedOf is what is known of a container that was started. If no event has told of
// it, events are being lost, as while their stream is new: then the runtime is asked.
func (h *executor) reportedOf(ctx context.Context, id string, err error) *lifecycle.ContainerRunning {
	if reported, found := h.created.LoadAndDelete(id); found {
		return reported.(*lifecycle.ContainerRunning)
	}
	if err != nil {
		return nil
	}
	answer, err := h.engine.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return nil // a snapshot will show it
	}
	return new(runningFact(answer.GetStatus()))
}

// runningFact is what a container's status adds to what is known (A-CST-4, A-CST-16).
func runningFact(status *runtimeapi.ContainerStatus) lifecycle.ContainerRunning {
	fact := lifecycle.ContainerRunning{
		ContainerID: status.GetId(),
		StartedAt:   cri.Time(status.GetStartedAt()),
		Image:       status.GetImage().GetImage(),
		ImageRef:    status.GetImageRef(),
		Resources:   actualResources(status),
	}
	if user := status.GetUser().GetLinux(); user != nil {
		fact.User = &v1.ContainerUser{Linux: &v1.LinuxContainerUser{
			UID: user.GetUid(), GID: user.GetGid(), SupplementalGroups: user.GetSupplementalGroups(),
		}}
	}
	return fact
}

// panicked is a panic of something that was done beside a worker.
type panicked struct {
	value any
	stack []byte
}

// String is what a panic of it says, with where it was.
func (p panicked) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// beside does what was asked for beside the worker, which waits for it at its end. If it
// panics, Run does: whoever runs several workers can keep that to the one.
func (w *Worker) beside(what any, do func()) {
	clock := w.executor.engine.Clock
	busy, wait := clock.Time().Busy, clock.Await(w.pod.UID, what)
	busy(1)
	w.calls.Go(func() {
		wait()
		defer busy(-1)
		defer func() {
			if r := recover(); r != nil {
				w.mail.Post(panicked{r, debug.Stack()})
			}
		}()
		do()
	})
}
