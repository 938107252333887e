package client

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// AwaitRestart waits until containers have started again since the pod was as before.
// What becomes of them then is their own affair. An error says that one will not start.
func (p *Pod) AwaitRestart(ctx context.Context, before *v1.Pod, containers []string) error {
	return p.await(ctx, func(pod *v1.Pod) (bool, error) {
		if lifecycle.Terminal(pod.Status.Phase) {
			return false, fmt.Errorf("pod %s/%s has ended, its phase is %s", p.Namespace, p.Name, pod.Status.Phase)
		}
		done := true
		for _, name := range containers {
			old, now := control.StatusOf(before, name), control.StatusOf(pod, name)
			if startedSince(old, now) {
				continue
			}
			done = false
			if err := refusedSince(name, old, now); err != nil {
				return false, err
			}
		}
		return done, nil
	})
}

// startedSince says whether a container has a new instance that has started. A restart is
// counted when the instance is created, which is before it starts.
func startedSince(old, now *v1.ContainerStatus) bool {
	if now == nil || now.ContainerID == "" {
		return false
	}
	restarts := now.RestartCount + 1 // the first start is one too
	if old != nil && (old.ContainerID != "" || old.RestartCount > 0) {
		restarts = now.RestartCount - old.RestartCount
	}
	return restarts > 1 || restarts == 1 && hasStarted(now)
}

// hasStarted says whether the present instance of a container runs or has ended. One that
// is only created waits, with the end of the one before as its last state.
func hasStarted(now *v1.ContainerStatus) bool {
	last := now.LastTerminationState.Terminated
	return now.State.Waiting == nil || last != nil && last.ContainerID == now.ContainerID
}

// refusedSince is why a container can't start, if that was not so before.
func refusedSince(name string, old, now *v1.ContainerStatus) error {
	if now == nil || now.State.Waiting == nil || !slices.Contains(refusals, now.State.Waiting.Reason) {
		return nil
	}
	if old != nil && old.State.Waiting != nil && old.State.Waiting.Reason == now.State.Waiting.Reason {
		return nil // it may be the old news
	}
	return fmt.Errorf("container %s does not start: %s: %s", name, now.State.Waiting.Reason, cri.Reason(now.State.Waiting.Message))
}

// refusals are the reasons of containers that wait for what may never come.
var refusals = []string{"InvalidImageName", "ErrImageNeverPull", "ImagePullBackOff", "CreateContainerConfigError"}

// AwaitEnd waits until an instance of a container, known by its restart count, has
// ended, and returns its exit code.
func (p *Pod) AwaitEnd(ctx context.Context, container string, instance int32) (code int32, err error) {
	err = p.await(ctx, func(pod *v1.Pod) (bool, error) {
		status := control.StatusOf(pod, container)
		if status == nil {
			return false, nil
		}
		t := status.State.Terminated
		if status.RestartCount > instance || t == nil && hasStarted(status) {
			t = status.LastTerminationState.Terminated
		}
		if t != nil {
			code = t.ExitCode
		}
		return t != nil, nil
	})
	return code, err
}
