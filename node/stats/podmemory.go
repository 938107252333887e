package stats

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/procfs"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// PodsMemory is what pods use of memory, read from their cgroups: when memory is short,
// the runtime would take long to ask a process for each of them. Pods in whose
// cgroup nothing is yet are left out. An error: nothing can be measured.
func (s *Stats) PodsMemory() ([]statsapi.PodStats, error) {
	if _, err := ReadMemory(s.Pods.CgroupRoot); err != nil && !errors.Is(err, fs.ErrNotExist) { // without pods there may be none
		return nil, err
	}
	var list []statsapi.PodStats
	for _, pod := range s.Pods.List() {
		if used, found := s.podMemory(pod); found {
			list = append(list, used)
		}
	}
	return list, nil
}

func (s *Stats) podMemory(pod *v1.Pod) (used statsapi.PodStats, found bool) {
	name := s.Pods.Cgroup(pod)
	below := folders(name)
	memory := memoryOf(name)
	if len(below) == 0 || memory == nil {
		return used, false
	}
	used.PodRef = statsapi.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}
	used.Memory = memory
	for _, c := range allStatuses(&pod.Status) {
		_, id, _ := strings.Cut(c.ContainerID, "://")
		if c.State.Running == nil || id == "" {
			continue
		}
		if folder := folderOf(below, id); folder != "" {
			used.Containers = append(used.Containers, statsapi.ContainerStats{Name: c.Name, Memory: memoryOf(path.Join(name, folder))})
		}
	}
	return used, true
}

// memoryOf is what a cgroup uses; nil if it has gone.
func memoryOf(name string) *statsapi.MemoryStats {
	m, err := ReadMemory(name)
	if err != nil {
		return nil
	}
	return &statsapi.MemoryStats{Time: metav1.NewTime(m.At), UsageBytes: new(m.Usage), WorkingSetBytes: new(m.WorkingSet())}
}

// addPressure adds the machine's pressure stall information, which the root cgroup
// doesn't have.
func addPressure(c *cgroups.Stats) {
	for name, psi := range map[string]**cgroups.PSIStats{"cpu": &c.CpuStats.PSI, "memory": &c.MemoryStats.PSI, "io": &c.BlkioStats.PSI} {
		if *psi == nil {
			*psi = readPressure(procfs.DefaultMountPoint, name)
		}
	}
}

// readPressure is nil where the kernel doesn't measure it; some kernels have the file only.
func readPressure(mount, of string) *cgroups.PSIStats {
	proc, err := procfs.NewFS(mount)
	if err != nil {
		return nil
	}
	read, err := proc.PSIStatsForResource(of)
	if err != nil || read.Some == nil {
		return nil
	}
	data := func(l *procfs.PSILine) (d cgroups.PSIData) {
		if l != nil {
			d = cgroups.PSIData{Avg10: l.Avg10, Avg60: l.Avg60, Avg300: l.Avg300, Total: l.Total}
		}
		return d
	}
	return &cgroups.PSIStats{Some: data(read.Some), Full: data(read.Full)}
}
