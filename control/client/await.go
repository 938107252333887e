package client

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/cri"
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
		if slices.Contains(refusals, status.State.Waiting.Reason) {
			err = fmt.Errorf("container %s does not start: %s: %s", container, status.State.Waiting.Reason, cri.Reason(status.State.Waiting.Message))
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

// AwaitResize waits until a container, or the pod as a whole if none is named, has the
// resources that wanted's spec has for it. An error says why it does not get them.
func (p *Pod) AwaitResize(ctx context.Context, wanted *v1.Pod, container string) (err error) {
	done := false
	watched := p.Watch(ctx, func(pod *v1.Pod) bool {
		if pod.Status.ObservedGeneration < wanted.Generation {
			return true
		}
		done, err = resized(pod, control.ResourcesOf(wanted, container), container)
		return !done && err == nil
	})
	if watched == nil && err == nil && !done {
		watched = p.goneError()
	}
	return firstError(watched, err)
}

// resized says whether a container has the resources, and why it will not get them.
func resized(pod *v1.Pod, wanted v1.ResourceRequirements, container string) (bool, error) {
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == v1.PodResizePending:
			return false, fmt.Errorf("resize is %s: %s", c.Reason, c.Message)
		case c.Type == v1.PodResizeInProgress && c.Reason == v1.PodReasonError:
			return false, fmt.Errorf("resize: %s", c.Message)
		case c.Type == v1.PodResizeInProgress:
			return false, nil
		}
	}
	if container == "" {
		return true, nil
	}
	status := control.StatusOf(pod, container)
	if status == nil || status.Resources == nil {
		return true, nil // it is yet to be made, with them
	}
	return equality.Semantic.DeepEqual(status.Resources.Limits, wanted.Limits) &&
		equality.Semantic.DeepEqual(status.Resources.Requests, wanted.Requests), nil
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
