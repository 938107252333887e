package stats

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// nodeUsage is what the machine uses, and of that lifepod, the runtime and the pods.
func (s *Stats) nodeUsage() (statsapi.NodeStats, error) {
	machine, err := machineMemory()
	if err != nil {
		return statsapi.NodeStats{}, err
	}
	root, err := readCgroup("/")
	if err != nil {
		return statsapi.NodeStats{}, err
	}
	addPressure(root.Stats)
	usage := s.usageOf("/", root, machine.limitOf("/", meminfo))
	node := statsapi.NodeStats{NodeName: s.NodeName, CPU: usage.CPU, Memory: usage.Memory, IO: usage.IO, Swap: &statsapi.SwapStats{
		Time: usage.Memory.Time, SwapUsageBytes: new(machine.swap - machine.freeSwap), SwapAvailableBytes: &machine.freeSwap,
	}}
	node.SystemContainers = s.systemContainers(machine.memory)
	return node, nil
}

// systemContainers are lifepod in the kubelet's place, the runtime and all pods
// together. Parts that share a cgroup, or are in none of their own, can't be told
// apart and are left out.
func (s *Stats) systemContainers(total uint64) []statsapi.ContainerStats {
	kubelet, runtime := cgroupOf(os.Getpid()), s.runtimeCgroup()
	if kubelet == runtime {
		runtime = ""
	}
	var list []statsapi.ContainerStats
	for _, part := range []struct {
		name, cgroup string
		since        time.Time
	}{
		{statsapi.SystemContainerKubelet, kubelet, s.begun},
		{statsapi.SystemContainerRuntime, runtime, time.Time{}},
		{statsapi.SystemContainerPods, s.Pods.CgroupRoot, time.Time{}},
	} {
		if part.cgroup == "" || part.cgroup == "/" {
			continue
		}
		c, err := readCgroup(part.cgroup)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				s.Log.Debug("can't see what a part of the system uses", "part", part.name, "err", err)
			}
			continue // without pods there is no cgroup of theirs
		}
		usage := s.usageOf(part.cgroup, c, total)
		usage.Name = part.name
		if usage.StartTime = metav1.NewTime(part.since); part.since.IsZero() {
			usage.StartTime = madeAt(part.cgroup)
		}
		list = append(list, usage)
	}
	return list
}

// usageOf is a cgroup's usage; total is the machine's memory, which stands in for a limit.
func (s *Stats) usageOf(name string, c cgroup, total uint64) statsapi.ContainerStats {
	now := metav1.NewTime(c.at)
	nanos := c.CpuStats.CpuUsage.TotalUsage
	workingSet := c.workingSet()
	limit, limited := c.limit()
	if !limited {
		limit = total
	}
	swapped, swapLimit, counted := c.swap()
	usage := statsapi.ContainerStats{
		CPU: &statsapi.CPUStats{
			Time: now, UsageCoreNanoSeconds: &nanos, UsageNanoCores: s.rates.nanoCores(name, c.at, nanos), PSI: psi(c.CpuStats.PSI),
		},
		Memory: &statsapi.MemoryStats{
			Time: now, AvailableBytes: new(minus(limit, workingSet)), UsageBytes: new(c.MemoryStats.Usage.Usage),
			WorkingSetBytes: &workingSet, RSSBytes: new(c.anonymous()),
			PageFaults: new(c.stat("pgfault", "pgfault")), MajorPageFaults: new(c.stat("pgmajfault", "pgmajfault")), PSI: psi(c.MemoryStats.PSI),
		},
	}
	if counted {
		usage.Swap = &statsapi.SwapStats{Time: now, SwapUsageBytes: &swapped}
	}
	if counted && swapLimit > 0 {
		usage.Swap.SwapAvailableBytes = new(minus(swapLimit, swapped))
	}
	if c.BlkioStats.PSI != nil {
		usage.IO = &statsapi.IOStats{Time: now, PSI: psi(c.BlkioStats.PSI)}
	}
	return usage
}

func psi(p *cgroups.PSIStats) *statsapi.PSIStats {
	if p == nil {
		return nil
	}
	of := func(d cgroups.PSIData) statsapi.PSIData {
		return statsapi.PSIData{Total: d.Total, Avg10: d.Avg10, Avg60: d.Avg60, Avg300: d.Avg300}
	}
	return &statsapi.PSIStats{Some: of(p.Some), Full: of(p.Full)}
}

// cgroupOf is the cgroup of a process by which its memory is counted; empty if it
// can't be seen.
func cgroupOf(pid int) string {
	controllers, err := cgroups.ParseCgroupFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	if cgroups.IsCgroup2UnifiedMode() {
		return controllers[""]
	}
	// One cgroup has to count everything, or it isn't the process's own.
	if controllers["memory"] != controllers["cpuacct"] {
		return ""
	}
	return controllers["memory"]
}

// madeAt is when a cgroup was made.
func madeAt(name string) metav1.Time {
	info, err := os.Stat(dirOf(name, "memory"))
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(info.ModTime())
}

// runtimeCgroup is that of the process that has bound the runtime's socket.
func (s *Stats) runtimeCgroup() string {
	pid, err := listenerOf(strings.TrimPrefix(s.RuntimeSocket, "unix://"))
	if err != nil {
		return ""
	}
	return cgroupOf(pid)
}

// listenerOf is the process that listens on a socket.
func listenerOf(path string) (pid int, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was sent
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return 0, err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}
