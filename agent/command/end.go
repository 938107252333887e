package command

import (
	"context"
	"encoding/json"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// lookTime is how long it may take until it has shown what the runtime gave
	// up: milliseconds, but ten seconds for the output of a command that ended
	// before, if something else holds it.
	lookTime = 12 * time.Second
	// cancelTime is the same for a command that is not wanted any more.
	cancelTime = 2 * time.Second
	lookEvery  = 10 * time.Millisecond
	// orphanTime is after how long such an output can be judged by itself.
	orphanTime = 500 * time.Millisecond
)

// end gives the call up and kills what its command has started.
//
// Neither the runtime nor the kernel says which processes a call has started,
// and others may run the same command in the container at the same time. They
// show when the runtime gives up its side: it kills the process that it
// started, the leader of a session of its own, and it closes the pipes of its
// output, which whatever else is left still holds.
func (c Command) end(ctx context.Context, began uint64, cancel context.CancelFunc, answered <-chan struct{}) {
	patience := lookTime
	if ctx.Err() != nil { // somebody waits for the answer
		patience = cancelTime
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	defer func() { <-answered }() // at once: the call is cancelled
	defer cancel()
	s, err := newScene(c.ContainerID, c.containerPID(ctx), began)
	if err != nil {
		return // a runtime that doesn't say, or the container has ended
	}
	// a call that is given up before its process is there still starts it
	for s.look(); len(s.recent) == 0; s.look() {
		if !wait(ctx, answered) {
			return
		}
	}
	cancel()
	for orphans := time.Now().Add(orphanTime); ctx.Err() == nil; wait(ctx, nil) {
		known := s.notice() || time.Now().After(orphans) && s.noticeOrphans()
		if left := s.killLeft(); known && !left {
			return
		}
		if !known {
			s.look()
		}
	}
}

// containerPID is the container's first process, 0 if that isn't known.
func (c Command) containerPID(ctx context.Context) int {
	r, err := c.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: c.ContainerID, Verbose: true})
	if err != nil {
		return 0
	}
	var info struct{ PID int }
	if json.Unmarshal([]byte(r.GetInfo()["info"]), &info) != nil {
		return 0
	}
	return info.PID
}

// wait lets a moment pass; false if it should not go on.
func wait(ctx context.Context, over <-chan struct{}) bool {
	select {
	case <-time.After(lookEvery):
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
