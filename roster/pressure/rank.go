package pressure

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	helpers "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Usage is what pods use.
type Usage map[types.UID]*statsapi.PodStats

// Rank orders pods, the first to go first (B-EVI-7): pods without figures, then for
// memory and disks those that use more than they request; then by priority, the lowest
// first; then by how much they use beyond their request, or by their processes. Pods
// alike stay in their order.
func Rank(pods []*v1.Pod, used Usage, signal Signal, disks Disks) {
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		mine, theirs := used[a.UID], used[b.UID]
		byFigures := trueFirst(mine == nil, theirs == nil)
		byPriority := cmp.Compare(corev1.PodPriority(a), corev1.PodPriority(b))
		if mine == nil || theirs == nil {
			if signal == PIDs {
				return cmp.Or(byPriority, byFigures)
			}
			return cmp.Or(byFigures, byPriority)
		}
		if signal == PIDs {
			return cmp.Or(byPriority, cmp.Compare(processes(theirs), processes(mine)))
		}
		over, overTheirs := excess(a, mine, signal, disks), excess(b, theirs, signal, disks)
		return cmp.Or(trueFirst(over > 0, overTheirs > 0), byPriority, cmp.Compare(overTheirs, over))
	})
}

// Why says in words why a pod goes before others.
func Why(pod *v1.Pod, used *statsapi.PodStats, signal Signal, disks Disks) string {
	switch {
	case used == nil:
		return "nothing is known of what it uses"
	case signal == PIDs:
		return fmt.Sprintf("it has priority %d and %d processes", corev1.PodPriority(pod), processes(used))
	}
	over := excess(pod, used, signal, disks)
	if over <= 0 {
		return fmt.Sprintf("no pod uses more than it requests; it has priority %d and uses %s less", corev1.PodPriority(pod), signal.quantity(-over))
	}
	return fmt.Sprintf("it uses %s more than it requests, with priority %d", signal.quantity(over), corev1.PodPriority(pod))
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// excess is how much a pod uses beyond its request; nobody requests inodes, and those of
// all are compared.
func excess(pod *v1.Pod, used *statsapi.PodStats, signal Signal, disks Disks) int64 {
	if signal.Resource() == v1.ResourceMemory {
		return workingSet(used.Memory) - request(pod, v1.ResourceMemory)
	}
	bytes, inodes := onDisk(pod, used, countedFor(signal, disks))
	if signal.Resource() == Inodes {
		return inodes
	}
	return bytes - request(pod, v1.ResourceEphemeralStorage)
}

// request is what the pod as a whole requests; its overhead counts if it requests anything.
func request(pod *v1.Pod, name v1.ResourceName) int64 {
	requests := helpers.PodRequests(pod, helpers.PodResourcesOptions{
		SkipContainerLevelResources: helpers.IsPodLevelResourcesSet(pod), ExcludeOverhead: true,
	})
	quantity := requests[name]
	if overhead := pod.Spec.Overhead[name]; !quantity.IsZero() {
		quantity.Add(overhead)
	}
	return quantity.Value()
}

func workingSet(m *statsapi.MemoryStats) int64 {
	if m == nil || m.WorkingSetBytes == nil {
		return 0
	}
	return int64(*m.WorkingSetBytes)
}

func processes(used *statsapi.PodStats) uint64 {
	if used.ProcessStats == nil || used.ProcessStats.ProcessCount == nil {
		return 0
	}
	return *used.ProcessStats.ProcessCount
}

// counted says what of a pod counts for a file system.
type counted struct{ layers, logs, volumes bool }

// countedFor says what is on the file system of a signal.
func countedFor(signal Signal, disks Disks) counted {
	imageFs := signal == ImageFs || signal == ImageFsInodes
	containerFs := signal == ContainerFs || signal == ContainerFsInodes
	switch {
	case !disks.Images:
		return counted{layers: true, logs: true, volumes: true}
	case disks.Containers && imageFs:
		return counted{}
	case disks.Containers:
		return counted{layers: true, logs: true, volumes: true}
	case imageFs || containerFs:
		return counted{layers: true}
	default:
		return counted{logs: true, volumes: true}
	}
}

func onDisk(pod *v1.Pod, used *statsapi.PodStats, what counted) (bytes, inodes int64) {
	add := func(fs *statsapi.FsStats) {
		if fs != nil && fs.UsedBytes != nil {
			bytes += int64(*fs.UsedBytes)
		}
		if fs != nil && fs.InodesUsed != nil {
			inodes += int64(*fs.InodesUsed)
		}
	}
	for i := range used.Containers {
		if what.layers {
			add(used.Containers[i].Rootfs)
		}
		if what.logs {
			add(used.Containers[i].Logs)
		}
	}
	for i := range used.VolumeStats {
		if what.volumes && isLocal(pod, used.VolumeStats[i].Name) {
			add(&used.VolumeStats[i].FsStats)
		}
	}
	return bytes, inodes
}

// isLocal says whether a volume's content is on this machine's disk.
func isLocal(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Name == name && (v.HostPath != nil || v.ConfigMap != nil || v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault)
	})
}
