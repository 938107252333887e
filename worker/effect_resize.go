package worker

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// admitResize says whether the node has room for the pod with other resources
// (A-ACT-15).
func (h *executor) admitResize(_ context.Context, e lifecycle.AdmitResize) lifecycle.Fact {
	fact := lifecycle.ResizeAdmitted{Result: lifecycle.Result{ID: e.ID}}
	switch {
	case h.engine.Admission.Room != nil:
		if refusal := h.engine.Admission.Room(e.Pod); refusal != nil {
			fact.Reason, fact.Message = refusal.Reason, refusal.Message
		}
	case h.engine.Admission.Host != nil:
		if refusal := admit.Check(e.Pod, *h.engine.Admission.Host); refusal != nil {
			fact.Reason, fact.Message = v1.PodReasonDeferred, refusal.Message
		}
	}
	return fact
}

// measureMemory reads how much memory the pod and its containers use.
func (h *executor) measureMemory(ctx context.Context, e lifecycle.MeasureMemory) lifecycle.Fact {
	fact := lifecycle.MemoryMeasured{}
	read, err := h.engine.Runtime.PodSandboxStats(ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: e.SandboxID})
	if err != nil {
		err = fmt.Errorf("unable to read memory usage for pod: %w", err)
	}
	fact.Result = result(ctx, e.ID, err)
	stats := read.GetStats().GetLinux()
	fact.Pod = int64(stats.GetMemory().GetUsageBytes().GetValue())
	for _, c := range stats.GetContainers() {
		fact.Containers = append(fact.Containers, lifecycle.ContainerMemory{
			Name: c.GetAttributes().GetMetadata().GetName(), Bytes: int64(c.GetMemory().GetUsageBytes().GetValue()),
		})
	}
	return fact
}

// resizeCgroup tells the runtime of the pod's new values, then sets them.
func (h *executor) resizeCgroup(ctx context.Context, e lifecycle.ResizeCgroup) lifecycle.Fact {
	pods := h.podsWith(e.Room)
	var err error
	if e.SandboxID != "" {
		err = h.announceCgroup(ctx, e.SandboxID, podcgroup.EnoughFor(pods, h.engine.Config.CPULimits))
	}
	if err == nil {
		err = h.engine.Cgroups.Resize(pods)
	}
	return lifecycle.CgroupResized{Result: result(ctx, e.ID, err)}
}

// ensureCgroup makes the pod's cgroup; one that is there and in the middle of a
// resize must not become too small for its containers.
func (h *executor) ensureCgroup(ctx context.Context, e lifecycle.EnsureCgroup) lifecycle.Fact {
	var err error
	if len(e.Room) > 0 {
		err = h.engine.Cgroups.Resize(h.podsWith(e.Room))
	} else {
		err = h.engine.Cgroups.Ensure(h.pod)
	}
	return lifecycle.CgroupEnsured{Result: result(ctx, e.ID, err)}
}

// podsWith is the pod with each of some allocations.
func (h *executor) podsWith(rooms []lifecycle.Allocation) []*v1.Pod {
	var pods []*v1.Pod
	for _, room := range rooms {
		pods = append(pods, room.On(h.pod))
	}
	return pods
}

// announceCgroup tells the runtime, whose plugins may refuse; one that does not have the
// call does not matter (A-ACT-12).
func (h *executor) announceCgroup(ctx context.Context, sandboxID string, r podcgroup.Resources) error {
	_, err := h.engine.Runtime.UpdatePodSandboxResources(ctx, &runtimeapi.UpdatePodSandboxResourcesRequest{
		PodSandboxId: sandboxID,
		Resources: &runtimeapi.LinuxContainerResources{
			CpuShares: int64(r.CPUShares), CpuPeriod: r.CPUPeriod, CpuQuota: r.CPUQuota, MemoryLimitInBytes: r.MemoryLimit,
		},
	})
	// Before 2.3 containerd answers Unknown.
	switch code := status.Code(err); {
	case err == nil:
	case code == codes.Unimplemented, code == codes.Unknown && strings.Contains(err.Error(), "not implemented"):
		h.engine.Log.Debug("the runtime is not told of the pod's new resources", "err", err)
	default:
		return fmt.Errorf("tell the runtime of the pod's new resources: %w", err)
	}
	return nil
}

// resizeContainer changes a container that runs and reads back what it has.
func (h *executor) resizeContainer(ctx context.Context, e lifecycle.ResizeContainer) lifecycle.Fact {
	spec := containerSpec(h.pod, e.Container).DeepCopy()
	spec.Resources = e.Resources
	_, err := h.engine.Runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: e.ContainerID, Linux: criconfig.Resources(h.engine.Config, h.pod, spec),
	})
	fact := lifecycle.ContainerResized{Result: result(ctx, e.ID, err)}
	if err != nil {
		return fact
	}
	read, err := h.engine.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: e.ContainerID})
	if err != nil {
		h.engine.Log.Debug("a resized container's values are not read back", "container", e.Container, "err", cri.Text(err))
		return fact
	}
	fact.Actual = actualResources(read.GetStatus())
	return fact
}

// actualResources are a container's values as the runtime has them, nil if it
// does not say (A-CST-15).
func actualResources(status *runtimeapi.ContainerStatus) *v1.ResourceRequirements {
	linux := status.GetResources().GetLinux()
	if linux == nil {
		return nil
	}
	out := &v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	if linux.CpuShares > 0 {
		out.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(podcgroup.MilliCPUOfShares(linux.CpuShares), resource.DecimalSI)
	}
	if linux.CpuQuota > 0 && linux.CpuPeriod > 0 {
		out.Limits[v1.ResourceCPU] = *resource.NewMilliQuantity(linux.CpuQuota*1000/linux.CpuPeriod, resource.DecimalSI)
	}
	if linux.MemoryLimitInBytes > 0 {
		out.Limits[v1.ResourceMemory] = *resource.NewQuantity(linux.MemoryLimitInBytes, resource.BinarySI)
	}
	return out
}
