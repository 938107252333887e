package stats

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
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
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
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
			*psi = readPressure("/proc/pressure/" + name)
		}
	}
}

// readPressure is nil where the kernel doesn't measure it.
func readPressure(path string) *cgroups.PSIStats {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // only read
	var psi cgroups.PSIStats
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "some":
			psi.Some = pressureData(rest)
		case "full":
			psi.Full = pressureData(rest)
		}
	}
	if lines.Err() != nil { // some kernels have the file only
		return nil
	}
	return &psi
}

// pressureData reads avg10=0.00 avg60=0.00 avg300=0.00 total=0, the last in microseconds.
func pressureData(text string) cgroups.PSIData {
	var data cgroups.PSIData
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		number, _ := strconv.ParseFloat(value, 64) // the kernel's own
		switch key {
		case "avg10":
			data.Avg10 = number
		case "avg60":
			data.Avg60 = number
		case "avg300":
			data.Avg300 = number
		case "total":
			data.Total, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return data
}
