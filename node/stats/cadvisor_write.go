package stats

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// writer writes cAdvisor's metrics.
type writer struct{ out chan<- prometheus.Metric }

// figures writes those of one cgroup.
type figures struct {
	writer
	id     string
	shared []*dto.LabelPair
}

func (w writer) of(l labels) figures { return figures{w, l.id, l.pairs()} }

func (w figures) count(name string, at time.Time, v float64, more ...string) {
	w.out <- &point{name: name, labels: with(w.shared, names[name].more, more), counter: true, value: v, at: at}
}

func (w figures) level(name string, at time.Time, v uint64, more ...string) {
	w.out <- &point{name: name, labels: with(w.shared, names[name].more, more), value: float64(v), at: at}
}

// machine writes what the machine has.
func (w writer) machine() {
	machine, err := machineMemory()
	if err != nil {
		return
	}
	w.out <- gauge(desc("machine_cpu_cores", "Number of logical CPU cores."), float64(runtime.NumCPU()))
	w.out <- gauge(desc("machine_memory_bytes", "Amount of memory installed on the machine."), float64(machine.memory))
	w.out <- gauge(desc("machine_swap_bytes", "Amount of swap memory available on the machine."), float64(machine.swap))
}

// usage writes what a cgroup has used.
func (w figures) usage(c cgroup) {
	cpu := c.CpuStats
	w.count("container_cpu_usage_seconds_total", c.at, seconds(cpu.CpuUsage.TotalUsage), "total")
	w.count("container_cpu_user_seconds_total", c.at, seconds(cpu.CpuUsage.UsageInUsermode))
	w.count("container_cpu_system_seconds_total", c.at, seconds(cpu.CpuUsage.UsageInKernelmode))
	w.memory(c)
	if w.id != "/" {
		w.level("container_threads", c.at, c.PidsStats.Current)
		w.level("container_threads_max", c.at, c.PidsStats.Limit)
	}
	if kills, known := oomKills(w.id, c.v2); known {
		w.count("container_oom_events_total", c.at, float64(kills))
	}
	w.disks(c)
	w.pressure("cpu", c.at, cpu.PSI)
	w.pressure("memory", c.at, c.MemoryStats.PSI)
	w.pressure("io", c.at, c.BlkioStats.PSI)
}

func (w figures) memory(c cgroup) {
	swapped, _, _ := c.swap()
	m := c.MemoryStats
	for name, bytes := range map[string]uint64{
		"container_memory_cache":                     c.stat("cache", "file"),
		"container_memory_rss":                       c.anonymous(),
		"container_memory_kernel_usage":              m.KernelUsage.Usage,
		"container_memory_mapped_file":               c.stat("mapped_file", "file_mapped"),
		"container_memory_swap":                      swapped,
		"container_memory_usage_bytes":               m.Usage.Usage,
		"container_memory_max_usage_bytes":           m.Usage.MaxUsage,
		"container_memory_working_set_bytes":         c.workingSet(),
		"container_memory_total_active_file_bytes":   c.stat("active_file", "active_file"),
		"container_memory_total_inactive_file_bytes": c.stat("inactive_file", "inactive_file"),
	} {
		w.level(name, c.at, bytes)
	}
	w.count("container_memory_failcnt", c.at, float64(m.Usage.Failcnt))
	for _, kind := range []string{"pgfault", "pgmajfault"} {
		w.count("container_memory_failures_total", c.at, float64(m.Stats[kind]), kind, "container")
		w.count("container_memory_failures_total", c.at, float64(c.stat(kind, kind)), kind, "hierarchy")
	}
}

// disks writes what went from and to block devices.
func (w figures) disks(c cgroup) {
	for _, kind := range []struct {
		reads, writes string
		entries       []cgroups.BlkioStatEntry
	}{
		{"container_fs_reads_bytes_total", "container_fs_writes_bytes_total", c.BlkioStats.IoServiceBytesRecursive},
		{"container_fs_reads_total", "container_fs_writes_total", c.BlkioStats.IoServicedRecursive},
	} {
		for _, e := range kind.entries {
			switch device := deviceName(e.Major, e.Minor); strings.ToLower(e.Op) {
			case "read":
				w.count(kind.reads, c.at, float64(e.Value), device)
			case "write":
				w.count(kind.writes, c.at, float64(e.Value), device)
			}
		}
	}
}

func (w figures) pressure(on string, at time.Time, psi *cgroups.PSIStats) {
	if psi == nil {
		return
	}
	const micro = float64(time.Second / time.Microsecond)
	w.count("container_pressure_"+on+"_stalled_seconds_total", at, float64(psi.Full.Total)/micro)
	w.count("container_pressure_"+on+"_waiting_seconds_total", at, float64(psi.Some.Total)/micro)
}

// limits writes what a cgroup may use; no limit is 0.
func (w figures) limits(c cgroup) {
	write := func(name string, v uint64) { w.level(name, time.Time{}, v) }
	memory, limited := c.limit()
	if w.id == "/" && !limited {
		machine, _ := machineMemory() // it was asked for before
		memory = machine.memory
	} else if !limited {
		memory = 0
	}
	_, swap, _ := c.swap()
	write("container_spec_memory_limit_bytes", memory)
	write("container_spec_memory_swap_limit_bytes", swap)
	cpu := cpuLimits(w.id, c.v2)
	if cpu.period == 0 {
		return // the root has none
	}
	write("container_spec_cpu_period", uint64(cpu.period))
	write("container_spec_cpu_shares", uint64(cpu.shares))
	if cpu.quota > 0 {
		write("container_spec_cpu_quota", uint64(cpu.quota))
		t := c.CpuStats.ThrottlingData
		w.count("container_cpu_cfs_periods_total", c.at, float64(t.Periods))
		w.count("container_cpu_cfs_throttled_periods_total", c.at, float64(t.ThrottledPeriods))
		w.count("container_cpu_cfs_throttled_seconds_total", c.at, seconds(t.ThrottledTime))
		b := c.CpuStats.BurstData
		w.count("container_cpu_cfs_burst_periods_total", c.at, float64(b.BurstsPeriods))
		w.count("container_cpu_cfs_burst_seconds_total", c.at, seconds(b.BurstTime))
	}
}

// layer writes the use of a container's writable layer.
func (w figures) layer(c container) {
	layer := c.usage.GetWritableLayer()
	if layer.GetUsedBytes() == nil {
		return
	}
	at := at(layer.Timestamp).Time
	device := deviceOf(layer.GetFsId().GetMountpoint())
	w.level("container_fs_usage_bytes", at, layer.UsedBytes.Value, device)
	if fs, err := fileSystem(layer.GetFsId().GetMountpoint()); err == nil {
		w.level("container_fs_limit_bytes", at, *fs.CapacityBytes, device)
		w.level("container_fs_inodes_free", at, *fs.InodesFree, device)
		w.level("container_fs_inodes_total", at, *fs.Inodes, device)
	}
}

func (w figures) network(list []link) {
	now := time.Now()
	for _, l := range list {
		for name, count := range map[string]uint64{
			"container_network_receive_bytes_total":            l.rxBytes,
			"container_network_receive_packets_total":          l.rxPackets,
			"container_network_receive_packets_dropped_total":  l.rxDropped,
			"container_network_receive_errors_total":           l.rxErrors,
			"container_network_transmit_bytes_total":           l.txBytes,
			"container_network_transmit_packets_total":         l.txPackets,
			"container_network_transmit_packets_dropped_total": l.txDropped,
			"container_network_transmit_errors_total":          l.txErrors,
		} {
			w.count(name, now, float64(count), l.name)
		}
	}
}

// cpuLimit is what a cgroup may use of the CPUs; quota is 0 without a limit.
type cpuLimit struct{ period, quota, shares int64 }

func cpuLimits(name string, v2 bool) cpuLimit {
	dir := dirOf(name, "cpu")
	if !v2 {
		period, err := readNumber(filepath.Join(dir, "cpu.cfs_period_us"))
		if err != nil {
			return cpuLimit{}
		}
		quota, _ := readNumber(filepath.Join(dir, "cpu.cfs_quota_us")) // beside the period
		shares, _ := readNumber(filepath.Join(dir, "cpu.shares"))
		return cpuLimit{period, max(0, quota), shares}
	}
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max")) // quota or max, period
	fields := strings.Fields(string(text))
	if err != nil || len(fields) != 2 {
		return cpuLimit{}
	}
	quota, _ := strconv.ParseInt(fields[0], 10, 64) // max is no limit
	period, _ := strconv.ParseInt(fields[1], 10, 64)
	weight, _ := readNumber(filepath.Join(dir, "cpu.weight"))
	return cpuLimit{period, quota, sharesOf(weight)}
}

// sharesOf is the weight of version 2 as shares of version 1: 1..10000 is 2..262144.
func sharesOf(weight int64) int64 {
	if weight <= 0 {
		return 0
	}
	return 2 + int64(math.Round(float64(weight-1)*262142/9999))
}

// oomKills are the processes of a cgroup that the kernel has killed for want of memory.
func oomKills(name string, v2 bool) (int64, bool) {
	file := "memory.oom_control"
	if v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(dirOf(name, "memory"), file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
