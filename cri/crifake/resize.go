package crifake

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UpdateContainerResources gives a container that runs other resources.
func (r *Runtime) UpdateContainerResources(ctx context.Context, in *runtimeapi.UpdateContainerResourcesRequest, _ ...callOption) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	err := r.do(ctx, call{
		rpc: "UpdateContainerResources", subject: r.subjectOf(in.ContainerId),
		detail: fmt.Sprintf("shares=%d quota=%d memory=%d", in.Linux.CpuShares, in.Linux.CpuQuota, in.Linux.MemoryLimitInBytes),
		effect: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			c := r.container(in.ContainerId)
			if c == nil {
				return notFound(in.ContainerId)
			}
			c.resources = in.Linux
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// UpdatePodSandboxResources changes nothing, as in containerd.
func (r *Runtime) UpdatePodSandboxResources(ctx context.Context, in *runtimeapi.UpdatePodSandboxResourcesRequest, _ ...callOption) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	detail := fmt.Sprintf("shares=%d quota=%d memory=%d", in.Resources.CpuShares, in.Resources.CpuQuota, in.Resources.MemoryLimitInBytes)
	err := r.do(ctx, call{
		rpc: "UpdatePodSandboxResources", subject: r.podOf(in.PodSandboxId), detail: detail,
		effect: func(context.Context) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

// PodSandboxStats says that each container uses as much memory as Uses was told.
func (r *Runtime) PodSandboxStats(ctx context.Context, in *runtimeapi.PodSandboxStatsRequest, _ ...callOption) (*runtimeapi.PodSandboxStatsResponse, error) {
	out := &runtimeapi.PodSandboxStatsResponse{}
	err := r.do(ctx, call{rpc: "PodSandboxStats", subject: r.podOf(in.PodSandboxId), effect: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		out.Stats = &runtimeapi.PodSandboxStats{}
		if s := r.sandbox(in.PodSandboxId); s != nil {
			out.Stats = r.statsOf(s)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Uses sets how many bytes of memory each container uses.
func (r *Runtime) Uses(bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = bytes
}
