package crifake

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Status says that the runtime and its network are ready.
func (r *Runtime) Status(ctx context.Context, _ *runtimeapi.StatusRequest, _ ...callOption) (*runtimeapi.StatusResponse, error) {
	out := &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{{Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}}},
		Features:        &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}
	return out, r.do(ctx, call{rpc: "Status", effect: nothing})
}

// UpdateRuntimeConfig takes the range of the pods' addresses, and changes nothing: they are of no network.
func (r *Runtime) UpdateRuntimeConfig(ctx context.Context, _ *runtimeapi.UpdateRuntimeConfigRequest, _ ...callOption) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, r.do(ctx, call{rpc: "UpdateRuntimeConfig", effect: nothing})
}

func nothing(context.Context) error { return nil }

// ListContainerStats says that each container that runs uses as much memory as Uses was told, and no CPU.
func (r *Runtime) ListContainerStats(ctx context.Context, in *runtimeapi.ListContainerStatsRequest, _ ...callOption) (*runtimeapi.ListContainerStatsResponse, error) {
	return ask(ctx, r, call{rpc: "ListContainerStats"}, func(out *runtimeapi.ListContainerStatsResponse) error {
		for _, c := range r.containersFor(in.GetFilter().GetLabelSelector()) {
			filter := &runtimeapi.ContainerFilter{
				Id: in.GetFilter().GetId(), PodSandboxId: in.GetFilter().GetPodSandboxId(), LabelSelector: in.GetFilter().GetLabelSelector(),
			}
			if c.fits(filter) && c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
				out.Stats = append(out.Stats, c.stats(r.memory))
			}
		}
		return nil
	})
}

// ContainerStats is that of one container.
func (r *Runtime) ContainerStats(ctx context.Context, in *runtimeapi.ContainerStatsRequest, _ ...callOption) (*runtimeapi.ContainerStatsResponse, error) {
	return ask(ctx, r, call{rpc: "ContainerStats", subject: r.subjectOf(in.ContainerId)}, func(out *runtimeapi.ContainerStatsResponse) error {
		c := r.container(in.ContainerId)
		if c == nil {
			return notFound(in.ContainerId)
		}
		out.Stats = c.stats(r.memory)
		return nil
	})
}

// ListPodSandboxStats is PodSandboxStats of all sandboxes that are ready.
func (r *Runtime) ListPodSandboxStats(ctx context.Context, in *runtimeapi.ListPodSandboxStatsRequest, _ ...callOption) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return ask(ctx, r, call{rpc: "ListPodSandboxStats"}, func(out *runtimeapi.ListPodSandboxStatsResponse) error {
		for _, s := range r.sandboxesFor(in.GetFilter().GetLabelSelector()) {
			filter := &runtimeapi.PodSandboxFilter{Id: in.GetFilter().GetId(), LabelSelector: in.GetFilter().GetLabelSelector()}
			if s.ready && s.fits(filter) {
				out.Stats = append(out.Stats, r.statsOf(s))
			}
		}
		return nil
	})
}

// statsOf is what a sandbox and its containers use; needs mu.
func (r *Runtime) statsOf(s *sandbox) *runtimeapi.PodSandboxStats {
	linux, sum := &runtimeapi.LinuxPodSandboxStats{}, uint64(0)
	for _, c := range s.containers {
		if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
			sum += r.memory
			linux.Containers = append(linux.Containers, c.stats(r.memory))
		}
	}
	linux.Memory = usage(sum)
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: s.id, Metadata: s.config.Metadata, Labels: s.config.Labels, Annotations: s.config.Annotations},
		Linux:      linux,
	}
}

func (c *container) stats(bytes uint64) *runtimeapi.ContainerStats {
	return &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{Id: c.id, Metadata: c.config.Metadata, Labels: c.config.Labels, Annotations: c.config.Annotations},
		Memory:     usage(bytes),
	}
}

func usage(bytes uint64) *runtimeapi.MemoryUsage {
	now := time.Now().UnixNano()
	value := func() *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: bytes} }
	return &runtimeapi.MemoryUsage{Timestamp: now, UsageBytes: value(), WorkingSetBytes: value()}
}
