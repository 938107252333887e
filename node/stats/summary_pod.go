package stats

import (
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podUsages are what the pods use, without storage; in the order of sandboxes.
func (s *Stats) podUsages(sandboxes []sandbox) []statsapi.PodStats {
	list := make([]statsapi.PodStats, 0, len(sandboxes))
	for _, sb := range sandboxes {
		list = append(list, s.podUsage(sb))
	}
	return list
}

func (s *Stats) podUsage(sb sandbox) statsapi.PodStats {
	pod := statsapi.PodStats{
		PodRef: statsapi.PodReference{
			Name: sb.GetMetadata().GetName(), Namespace: sb.GetMetadata().GetNamespace(), UID: string(sb.uid()),
		},
		StartTime: at(sb.CreatedAt),
		CPU:       s.cpu(sb.Id, sb.usage.Cpu), Memory: memory(sb.usage.Memory),
		Network: podNetwork(sb.usage.Network), IO: inputOutput(sb.usage.Io),
		Containers: make([]statsapi.ContainerStats, 0, len(sb.containers)),
	}
	if count := sb.usage.GetProcess().GetProcessCount(); count != nil {
		pod.ProcessStats = &statsapi.ProcessStats{ProcessCount: &count.Value}
	}
	for _, c := range sb.containers {
		used := s.containerUsage(c)
		pod.Containers = append(pod.Containers, used)
		pod.Swap = addSwap(pod.Swap, used.Swap) // the runtime doesn't tell it of pods
		if sb.usage.Cpu == nil {
			pod.CPU = addCPU(pod.CPU, used.CPU)
		}
		if sb.usage.Memory == nil {
			pod.Memory = addMemory(pod.Memory, used.Memory)
		}
	}
	return pod
}

func (s *Stats) containerUsage(c container) statsapi.ContainerStats {
	return statsapi.ContainerStats{
		Name: c.GetMetadata().GetName(), StartTime: at(c.CreatedAt),
		CPU: s.cpu(c.Id, c.usage.Cpu), Memory: memory(c.usage.Memory),
		Swap: swap(c.usage.Swap), IO: inputOutput(c.usage.Io), Rootfs: s.rootfs(c.usage.WritableLayer),
	}
}

func (s *Stats) rootfs(layer *runtimeapi.FilesystemUsage) *statsapi.FsStats {
	if layer == nil {
		return nil
	}
	return s.usedOf(layer)
}

func addSwap(a, b *statsapi.SwapStats) *statsapi.SwapStats {
	if a == nil || b == nil {
		return either(a, b)
	}
	return &statsapi.SwapStats{
		Time: b.Time, SwapUsageBytes: sum(a.SwapUsageBytes, b.SwapUsageBytes), SwapAvailableBytes: sum(a.SwapAvailableBytes, b.SwapAvailableBytes),
	}
}

func addCPU(a, b *statsapi.CPUStats) *statsapi.CPUStats {
	if a == nil || b == nil {
		return either(a, b)
	}
	return &statsapi.CPUStats{
		Time: b.Time, UsageNanoCores: sum(a.UsageNanoCores, b.UsageNanoCores), UsageCoreNanoSeconds: sum(a.UsageCoreNanoSeconds, b.UsageCoreNanoSeconds),
	}
}

func addMemory(a, b *statsapi.MemoryStats) *statsapi.MemoryStats {
	if a == nil || b == nil {
		return either(a, b)
	}
	return &statsapi.MemoryStats{
		Time: b.Time, AvailableBytes: sum(a.AvailableBytes, b.AvailableBytes), UsageBytes: sum(a.UsageBytes, b.UsageBytes),
		WorkingSetBytes: sum(a.WorkingSetBytes, b.WorkingSetBytes), RSSBytes: sum(a.RSSBytes, b.RSSBytes),
		PageFaults: sum(a.PageFaults, b.PageFaults), MajorPageFaults: sum(a.MajorPageFaults, b.MajorPageFaults),
	}
}

// either is the one that is there, copied: it is going to be a sum.
func either[T any](a, b *T) *T {
	if a == nil {
		a = b
	}
	if a == nil {
		return nil
	}
	copied := *a
	return &copied
}
