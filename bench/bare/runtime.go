// Package bare lets pods live by bare CRI calls alone: the floor that lifepod, and
// the kubelet, are measured against. The calls are those that the work needs, in
// the order that is necessary, with the configs that lifepod sends.
package bare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// Runtime is where pods are made. Run must run while there are any.
type Runtime struct {
	Client *cri.Client
	Node   criconfig.Node
	// CgroupOf is the cgroup of a pod.
	CgroupOf func(pod *v1.Pod) string
	Log      *slog.Logger

	mu    sync.Mutex
	exits map[string]chan struct{} // closed at the exit of the container with that ID
}

// Run listens to exits until ctx ends.
func (r *Runtime) Run(ctx context.Context) {
	stream := cri.Stream{Runtime: r.Client.Runtime, Log: r.Log, Event: r.noteExit, Proven: func() {}, Broken: func() {}}
	stream.Run(ctx)
}

func (r *Runtime) noteExit(e *runtimeapi.ContainerEventResponse) {
	if e.GetContainerEventType() != runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if exit := r.exits[e.GetContainerId()]; exit != nil {
		close(exit)
		delete(r.exits, e.GetContainerId())
	}
}

// exitOf is closed when the container exits; ask before it can.
func (r *Runtime) exitOf(id string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exits == nil {
		r.exits = map[string]chan struct{}{}
	}
	exit := make(chan struct{})
	r.exits[id] = exit
	return exit
}

// exitTimeout is how long a process that has been killed may take to be reported.
const exitTimeout = 30 * time.Second

func await(ctx context.Context, exit <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, exitTimeout, errors.New("no event tells of a container's exit"))
	defer cancel()
	select {
	case <-exit:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends a container's process from outside, as a crash would.
func (r *Runtime) Kill(ctx context.Context, containerID string) error {
	pid, err := r.PID(ctx, containerID)
	if err != nil {
		return err
	}
	return unix.Kill(pid, unix.SIGKILL)
}

// PID returns the process ID of a container's first process.
func (r *Runtime) PID(ctx context.Context, containerID string) (int, error) {
	if pid := cri.PID(ctx, r.Client.Runtime, containerID); pid > 1 {
		return pid, nil
	}
	return 0, fmt.Errorf("no pid of container %s", containerID)
}
