package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// SummaryHandler answers /stats/summary.
func (s *Stats) SummaryHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask := s.Summary
		if r.FormValue("only_cpu_and_memory") == "true" {
			ask = s.CPUAndMemory
		}
		summary, err := ask(r.Context())
		if err != nil {
			s.Log.Warn("can't measure the resource usage of pods", "err", err)
			http.Error(w, fmt.Sprintf("Internal Error: %v", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		_ = encoder.Encode(summary) // who asked may have gone
	})
}

// Summary is all that is known.
func (s *Stats) Summary(ctx context.Context) (*statsapi.Summary, error) {
	summary, sandboxes, err := s.usage(ctx)
	if err != nil {
		return nil, err
	}
	node := &summary.Node
	if node.Network, err = network(); err != nil {
		return nil, err
	}
	if node.Fs, err = FileSystem(s.Pods.Dir); err != nil {
		return nil, err
	}
	if node.Runtime, err = s.imageFileSystems(ctx); err != nil {
		return nil, err
	}
	if node.Rlimit, err = Processes(); err != nil {
		return nil, err
	}
	s.addStorage(ctx, summary.Pods, sandboxes, node.Fs)
	return summary, nil
}

// CPUAndMemory is what is cheap.
func (s *Stats) CPUAndMemory(ctx context.Context) (*statsapi.Summary, error) {
	summary, _, err := s.usage(ctx)
	if err != nil {
		return nil, err
	}
	summary.Node.IO = nil
	for i := range summary.Pods {
		pod := &summary.Pods[i]
		pod.Network, pod.ProcessStats, pod.IO = nil, nil, nil
		for j := range pod.Containers {
			pod.Containers[j].IO = nil
		}
	}
	return summary, nil
}

// imageFileSystems are those of images and of writable layers.
func (s *Stats) imageFileSystems(ctx context.Context) (*statsapi.RuntimeStats, error) {
	answer, err := s.imageFsInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the runtime what images use: %w", err)
	}
	images := s.usedOf(answer.ImageFilesystems[0])
	layers := images
	if len(answer.ContainerFilesystems) > 0 {
		layers = s.usedOf(answer.ContainerFilesystems[0])
	}
	return &statsapi.RuntimeStats{ImageFs: images, ContainerFs: layers}, nil
}

// usedOf is what a part of the runtime uses of its file system, and that one's
// state if it can be seen from here.
func (s *Stats) usedOf(used *runtimeapi.FilesystemUsage) *statsapi.FsStats {
	stats := &statsapi.FsStats{}
	if fs, err := FileSystem(used.GetFsId().GetMountpoint()); err == nil {
		stats = fs
	}
	stats.Time, stats.UsedBytes, stats.InodesUsed = at(used.Timestamp), value(used.UsedBytes), value(used.InodesUsed)
	return stats
}

// usage is what the machine and the pods use, without network and storage of the machine; pods in the order of sandboxes.
func (s *Stats) usage(ctx context.Context) (*statsapi.Summary, []sandbox, error) {
	sandboxes, err := s.running(ctx)
	if err != nil {
		return nil, nil, err
	}
	node, err := s.nodeUsage()
	node.StartTime = metav1.NewTime(s.boot)
	list := make([]statsapi.PodStats, 0, len(sandboxes))
	for _, sb := range sandboxes {
		list = append(list, s.podUsage(sb))
	}
	return &statsapi.Summary{Node: node, Pods: list}, sandboxes, err
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
		return cmp.Or(a, b)
	}
	return &statsapi.SwapStats{
		Time: b.Time, SwapUsageBytes: sum(a.SwapUsageBytes, b.SwapUsageBytes), SwapAvailableBytes: sum(a.SwapAvailableBytes, b.SwapAvailableBytes),
	}
}

func addCPU(a, b *statsapi.CPUStats) *statsapi.CPUStats {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &statsapi.CPUStats{
		Time: b.Time, UsageNanoCores: sum(a.UsageNanoCores, b.UsageNanoCores), UsageCoreNanoSeconds: sum(a.UsageCoreNanoSeconds, b.UsageCoreNanoSeconds),
	}
}

func addMemory(a, b *statsapi.MemoryStats) *statsapi.MemoryStats {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &statsapi.MemoryStats{
		Time: b.Time, AvailableBytes: sum(a.AvailableBytes, b.AvailableBytes), UsageBytes: sum(a.UsageBytes, b.UsageBytes),
		WorkingSetBytes: sum(a.WorkingSetBytes, b.WorkingSetBytes), RSSBytes: sum(a.RSSBytes, b.RSSBytes),
		PageFaults: sum(a.PageFaults, b.PageFaults), MajorPageFaults: sum(a.MajorPageFaults, b.MajorPageFaults),
	}
}
