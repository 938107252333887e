package crifake

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ListContainers lists containers by label.
func (r *Runtime) ListContainers(ctx context.Context, in *runtimeapi.ListContainersRequest, _ ...callOption) (*runtimeapi.ListContainersResponse, error) {
	out := &runtimeapi.ListContainersResponse{}
	err := r.do(ctx, call{rpc: "ListContainers", effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.containers {
			if has(c.config.Labels, in.GetFilter().GetLabelSelector()) && c.isIn(in.GetFilter().GetState()) {
				out.Containers = append(out.Containers, &runtimeapi.Container{
					Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.Metadata, State: c.state, Labels: c.config.Labels,
					Image: c.config.Image, ImageRef: c.config.GetImage().GetImage(),
				})
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// isIn says whether the container is in a state; nil is any.
func (c *container) isIn(state *runtimeapi.ContainerStateValue) bool {
	return state == nil || state.State == c.state
}

// ContainerStatus is one container.
func (r *Runtime) ContainerStatus(ctx context.Context, in *runtimeapi.ContainerStatusRequest, _ ...callOption) (*runtimeapi.ContainerStatusResponse, error) {
	out := &runtimeapi.ContainerStatusResponse{}
	err := r.do(ctx, call{rpc: "ContainerStatus", subject: r.subjectOf(in.ContainerId), effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		c := r.container(in.ContainerId)
		if c == nil {
			return notFound(in.ContainerId)
		}
		out.Status = c.status()
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *container) status() *runtimeapi.ContainerStatus {
	resources := c.config.GetLinux().GetResources()
	if c.resources != nil {
		resources = c.resources
	}
	return &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.Metadata, State: c.state,
		CreatedAt: nanoseconds(c.createdAt), StartedAt: nanoseconds(c.startedAt), FinishedAt: nanoseconds(c.finishedAt),
		ExitCode: c.exitCode, Reason: c.reason, Message: c.message,
		Image: c.config.Image, ImageRef: c.config.GetImage().GetImage(),
		Resources: &runtimeapi.ContainerResources{Linux: resources},
		User:      &runtimeapi.ContainerUser{Linux: &runtimeapi.LinuxContainerUser{Uid: 7}},
		Labels:    c.config.Labels, Annotations: c.config.Annotations, Mounts: c.config.Mounts,
	}
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
