package client

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
)

// AwaitStart waits until a container runs or has run, and tells see what it
// waits for. An error says that it will not start.
func (p *Pod) AwaitStart(ctx context.Context, container string, see func(*v1.ContainerStateWaiting)) (state v1.ContainerState, err error) {
	started := false
	watched := p.Watch(ctx, func(pod *v1.Pod) bool {
		status := control.StatusOf(pod, container)
		switch {
		case status == nil:
			return true
		case status.State.Running != nil || status.State.Terminated != nil:
			state, started = status.State, true
			return false
		case status.State.Waiting == nil:
			return true
		}
		see(status.State.Waiting)
		switch status.State.Waiting.Reason {
		case "InvalidImageName", "ErrImageNeverPull", "ImagePullBackOff":
			err = fmt.Errorf("container %s does not start: %s: %s", container, status.State.Waiting.Reason, status.State.Waiting.Message)
			return false
		}
		return true
	})
	if watched != nil || err != nil {
		return state, firstError(watched, err)
	}
	if !started {
		return state, p.goneError()
	}
	return state, nil
}

// AwaitExit waits for a container's end and returns its exit code.
func (p *Pod) AwaitExit(ctx context.Context, container string) (code int32, err error) {
	ended := false
	err = p.Watch(ctx, func(pod *v1.Pod) bool {
		if status := control.StatusOf(pod, container); status != nil && status.State.Terminated != nil {
			code, ended = status.State.Terminated.ExitCode, true
		}
		return !ended
	})
	if err == nil && !ended {
		err = p.goneError()
	}
	return code, err
}

// AwaitResize waits until the resources that were asked for with a generation
// are what the containers have. An error says why they are not.
func (p *Pod) AwaitResize(ctx context.Context, generation int64) (err error) {
	done := false
	watched := p.Watch(ctx, func(pod *v1.Pod) bool {
		if pod.Status.ObservedGeneration < generation {
			return true
		}
		done = true
		for _, c := range pod.Status.Conditions {
			switch {
			case c.Type == v1.PodResizePending:
				err = fmt.Errorf("resize is %s: %s", c.Reason, c.Message)
			case c.Type == v1.PodResizeInProgress && c.Reason == v1.PodReasonError:
				err = fmt.Errorf("resize: %s", c.Message)
			case c.Type == v1.PodResizeInProgress:
				done = false
			}
		}
		return !done
	})
	if watched == nil && !done {
		watched = p.goneError()
	}
	return firstError(watched, err)
}

func (p *Pod) goneError() error {
	return fmt.Errorf("pod %s/%s has ended meanwhile", p.Namespace, p.Name)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
