package podcgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// ResourcePIDs is the name of process IDs in reservations.
const ResourcePIDs v1.ResourceName = "pid"

// ofList is what a list of resources limits a cgroup to; the compressible ones, of which
// a lack is borne, are cpu alone.
func ofList(list v1.ResourceList, compressible bool) Resources {
	var out Resources
	if cpu, set := list[v1.ResourceCPU]; set {
		out.CPUShares = CPUShares(cpu.MilliValue())
	}
	if compressible {
		return out
	}
	out.MemoryLimit, out.PidsLimit = max(0, list.Memory().Value()), 0
	if pids, set := list[ResourcePIDs]; set {
		out.PidsLimit = pids.Value()
	}
	return out
}

// EnforceReserved limits the cgroup of processes that are not pods' to what is reserved
// for them (A-RES-6). It must be there; with the systemd driver it is a slice.
func (d Driver) EnforceReserved(cgroup string, reserved v1.ResourceList, compressible bool) error {
	names := namesOf(cgroup, d.Systemd)
	resources := ofList(reserved, compressible)
	if d.MemoryQoS.On && resources.MemoryLimit > 0 {
		resources.Unified = map[string]string{memoryMin: strconv.FormatInt(resources.MemoryLimit, 10)}
	}
	m, err := d.manager(names, resources)
	if err != nil {
		return err
	}
	dirs := []string{m.Path("")}
	if !cgroups.IsCgroup2UnifiedMode() {
		dirs = []string{m.Path("cpu"), m.Path("memory"), m.Path("pids")}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); dir == "" || err != nil {
			return fmt.Errorf("%w: %s", errNoCgroup, path.Join("/", cgroup))
		}
	}
	return m.Set(resources.cgroup())
}

var errNoCgroup = errors.New("there is no such cgroup in every hierarchy: should be there before lifepod starts")

// namesOf are the levels of a cgroup, or slice, by its path, as of Path.
func namesOf(cgroup string, slice bool) []string {
	if slice {
		return strings.Split(strings.TrimSuffix(path.Base(cgroup), ".slice"), "-")
	}
	return strings.Split(strings.Trim(cgroup, "/"), "/")
}

// Used is what a pod has used of the machine so far, all its containers together.
type Used struct {
	MemoryPeak  int64         // bytes; 0: the kernel doesn't tell
	MemoryLimit int64         // bytes; 0: none
	CPU         time.Duration // on all CPUs
	Throttled   time.Duration // for which its processes waited because of a CPU limit
	OOMKills    int64         // processes that the kernel has killed
}

// Used reads what the pod has used. A container's own cgroup is gone when its end is known;
// the pod's stays until the pod is gone.
func (d Driver) Used(pod *v1.Pod) (Used, error) {
	m, err := d.manager(d.names(lifecycle.QOSClass(pod), pod.UID), Resources{})
	if err != nil {
		return Used{}, fmt.Errorf("usage of pod %s: %w", pod.UID, err)
	}
	stats, err := m.GetStats()
	if err != nil {
		return Used{}, fmt.Errorf("usage of pod %s: %w", pod.UID, err)
	}
	memory, cpu := stats.MemoryStats.Usage, stats.CpuStats
	used := Used{
		MemoryPeak: bytes(memory.MaxUsage), MemoryLimit: bytes(memory.Limit),
		CPU: nanoseconds(cpu.CpuUsage.TotalUsage), Throttled: nanoseconds(cpu.ThrottlingData.ThrottledTime),
	}
	if kills, err := m.OOMKillCount(); err == nil { // else the kernel doesn't count them
		used.OOMKills = bytes(kills)
	}
	return used, nil
}

// noLimit is from where on a limit of memory is none: cgroup v1 has a number for that, less
// than a page below the largest one.
const noLimit = math.MaxInt64 - 1<<20

func bytes(n uint64) int64 {
	if n >= noLimit {
		return 0
	}
	return int64(n)
}

func nanoseconds(n uint64) time.Duration { return time.Duration(bytes(n)) }
