package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// Events are the pod's newest events, the oldest first.
func (p *Pod) Events(ctx context.Context) ([]v1.Event, error) {
	var list v1.EventList
	err := p.call(ctx, http.MethodGet, p.path("/events"), nil, &list)
	return list.Items, err
}

// Services are those of the pod's lifepod run that select it.
func (p *Pod) Services(ctx context.Context) ([]v1.Service, error) {
	var list v1.ServiceList
	err := p.call(ctx, http.MethodGet, p.path("/services"), nil, &list)
	return list.Items, err
}

// Process is the first process of a container that runs; without a name it is that of any one.
func (p *Pod) Process(ctx context.Context, container string) (id pidfd.ID, err error) {
	return id, p.call(ctx, http.MethodGet, p.path("/process?"+url.Values{"container": {container}}.Encode()), nil, &id)
}

// Stop asks for the pod's end. nil is the grace of its spec, 0 kills at once; a
// second call can only shorten (B-WRK-9).
func (p *Pod) Stop(ctx context.Context, graceSeconds *int64) error {
	return p.call(ctx, http.MethodDelete, p.path(""), metav1.DeleteOptions{GracePeriodSeconds: graceSeconds}, &v1.Pod{})
}

// Restart asks for a restart without an exit, of one container or, if it is
// empty, of all in place; of all gracefully if wanted. It returns the pod as it was
// before.
func (p *Pod) Restart(ctx context.Context, container string, graceful bool) (before *v1.Pod, err error) {
	q := url.Values{}
	if container != "" {
		q.Set("container", container)
	}
	if graceful {
		q.Set("graceful", "true")
	}
	before = &v1.Pod{}
	return before, p.call(ctx, http.MethodPost, p.path("/restart?"+q.Encode()), nil, before)
}

// AddEphemeralContainer puts one more container into the pod and returns the pod.
func (p *Pod) AddEphemeralContainer(ctx context.Context, c *v1.EphemeralContainer) (*v1.Pod, error) {
	pod := &v1.Pod{}
	return pod, p.call(ctx, http.MethodPost, p.path("/ephemeralcontainers"), c, pod)
}

// Resize asks for other resources of one container, or of the pod as a whole if none is
// named. Those that are not given stay as they are. It returns the pod as it is asked for:
// its generation says when that was seen.
func (p *Pod) Resize(ctx context.Context, container string, resources v1.ResourceRequirements) (*v1.Pod, error) {
	pod := &v1.Pod{}
	body, one := &v1.Pod{}, []v1.Container{{Name: container, Resources: resources}}
	body.Spec.Containers = one
	if container == "" {
		body.Spec.Containers, body.Spec.Resources = nil, &resources
	}
	if slices.ContainsFunc(p.Spec.InitContainers, func(c v1.Container) bool { return c.Name == container }) {
		body.Spec.Containers, body.Spec.InitContainers = nil, one
	}
	return pod, p.call(ctx, http.MethodPost, p.path("/resize"), body, pod)
}

// SetCondition sets a condition that is not the node's own; one without a status
// is removed.
func (p *Pod) SetCondition(ctx context.Context, c v1.PodCondition) error {
	return p.call(ctx, http.MethodPost, p.path("/conditions"), c, &v1.Pod{})
}

// Watch calls see with each state of the pod, from now on, until see returns
// false or nothing of the pod is left. An error says that its lifepod has ended
// without a word.
func (p *Pod) Watch(ctx context.Context, see func(*v1.Pod) bool) error {
	response, err := p.send(ctx, http.MethodGet, p.path("?watch=true"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return p.leftError()
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	in := json.NewDecoder(response.Body)
	for {
		var event struct {
			Type   watch.EventType
			Object v1.Pod
		}
		if err := in.Decode(&event); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.leftError()
		}
		if event.Type == watch.Deleted || !see(&event.Object) {
			return nil
		}
	}
}

// leftError is that the pod's lifepod has ended without it.
func (p *Pod) leftError() error {
	return &LostError{Before: fmt.Sprintf("the end of pod %s/%s", p.Namespace, p.Name)}
}

// Wait returns when nothing of the pod is left.
func (p *Pod) Wait(ctx context.Context) error {
	return p.Watch(ctx, func(*v1.Pod) bool { return true })
}

// await watches the pod until is says yes, or why it never will.
func (p *Pod) await(ctx context.Context, is func(*v1.Pod) (bool, error)) (err error) {
	done := false
	watched := p.Watch(ctx, func(pod *v1.Pod) bool {
		done, err = is(pod)
		return !done && err == nil
	})
	if watched == nil && err == nil && !done {
		err = fmt.Errorf("pod %s/%s has ended meanwhile", p.Namespace, p.Name)
	}
	return cmp.Or(watched, err)
}

// AwaitStart waits until a container runs or has run, and tells see what it
// waits for. An error says that it will not start.
func (p *Pod) AwaitStart(ctx context.Context, container string, see func(*v1.ContainerStateWaiting)) (state v1.ContainerState, err error) {
	err = p.await(ctx, func(pod *v1.Pod) (bool, error) {
		status := control.StatusOf(pod, container)
		switch {
		case status == nil:
			return false, nil
		case status.State.Running != nil || status.State.Terminated != nil:
			state = status.State
			return true, nil
		case status.State.Waiting != nil:
			see(status.State.Waiting)
		}
		return false, refusedSince(container, nil, status)
	})
	return state, err
}

// AwaitResize waits until a container, or the pod as a whole if none is named, has the
// resources that wanted's spec has for it. An error says why it does not get them.
func (p *Pod) AwaitResize(ctx context.Context, wanted *v1.Pod, container string) error {
	return p.await(ctx, func(pod *v1.Pod) (bool, error) {
		if pod.Status.ObservedGeneration < wanted.Generation {
			return false, nil
		}
		return resized(pod, control.ResourcesOf(wanted, container), container)
	})
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
