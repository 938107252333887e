package criconfig

import (
	"maps"

	"github.com/lifepod/lifepod/worker/podcgroup"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// linuxResources converts requests and limits (A-CRI-7, A-CRI-8, A-CRI-11). A
// limit without a request is the request too.
func linuxResources(node Node, requests, limits v1.ResourceList) *runtimeapi.LinuxContainerResources {
	request, found := requests[v1.ResourceCPU]
	if !found {
		request = limits[v1.ResourceCPU]
	}
	out := &runtimeapi.LinuxContainerResources{
		CpuShares:          int64(podcgroup.CPUShares(request.MilliValue())),
		MemoryLimitInBytes: limits.Memory().Value(),
	}
	if !node.CPULimits.Off {
		out.CpuPeriod, out.CpuQuota = node.CPULimits.PeriodMicroseconds(), node.CPULimits.Quota(limits.Cpu().MilliValue())
	}
	if node.CgroupV2 && !node.SingleProcessOOMKill {
		out.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return out
}

// Resources are a container's values: limits it does not set are the pod's.
func Resources(node Node, pod *v1.Pod, container *v1.Container) *runtimeapi.LinuxContainerResources {
	var podLimits v1.ResourceList
	if pod.Spec.Resources != nil {
		podLimits = pod.Spec.Resources.Limits
	}
	limits := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		limits[name] = container.Resources.Limits[name]
		if own := limits[name]; own.IsZero() {
			limits[name] = podLimits[name]
		}
	}
	out := linuxResources(node, container.Resources.Requests, limits)
	out.OomScoreAdj = podcgroup.OOMScoreAdjust(pod, container, node.MemoryBytes)
	out.HugepageLimits = hugepageLimits(node, podLimits, container.Resources.Limits)
	noSwap(node, out)
	return out
}

// hugepageLimits has every page size of the host, with 0 where neither the
// container nor the pod has a limit.
func hugepageLimits(node Node, pod, container v1.ResourceList) []*runtimeapi.HugepageLimit {
	limits := podcgroup.HugePages(pod)
	maps.Copy(limits, podcgroup.HugePages(container))
	var out []*runtimeapi.HugepageLimit
	for _, size := range node.HugePageSizes {
		out = append(out, &runtimeapi.HugepageLimit{PageSize: size, Limit: limits[size]})
	}
	return out
}

// noSwap keeps a container out of swap: on cgroup v2 by the kernel's own file,
// on v1 by a limit of memory and swap together that equals that of memory.
func noSwap(node Node, r *runtimeapi.LinuxContainerResources) {
	switch {
	case !node.SwapLimit:
	case !node.CgroupV2:
		r.MemorySwapLimitInBytes = r.MemoryLimitInBytes
	case r.Unified == nil:
		r.Unified = map[string]string{"memory.swap.max": "0"}
	default:
		r.Unified["memory.swap.max"] = "0"
	}
}
