package stats

import (
	"os"
	"runtime"
	"slices"
	"strings"

	cadvisor "github.com/google/cadvisor/lib/container"
	"github.com/google/cadvisor/lib/metrics"
	info "github.com/google/cadvisor/lib/model"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/utils/clock"
)

func kinds(list ...cadvisor.MetricKind) cadvisor.MetricSet {
	set := cadvisor.MetricSet{}
	for _, kind := range list {
		set[kind] = struct{}{}
	}
	return set
}

// read is what cAdvisor's code reads of each cgroup.
var read = kinds(cadvisor.CpuUsageMetrics, cadvisor.MemoryUsageMetrics, cadvisor.DiskIOMetrics, cadvisor.NetworkUsageMetrics)

// written is what it writes. What the kernel does not measure of pressure is left out.
func written() cadvisor.MetricSet {
	all := kinds(cadvisor.ProcessMetrics, cadvisor.OOMMetrics)
	if _, err := os.Stat("/sys/fs/cgroup/cpu.pressure"); err == nil {
		all[cadvisor.PressureMetrics] = struct{}{}
	}
	return all.Append(read)
}

// families are its metrics that there are figures for.
var families = strings.Fields(`
	container_cpu_cfs_burst_periods_total container_cpu_cfs_burst_seconds_total container_cpu_cfs_periods_total
	container_cpu_cfs_throttled_periods_total container_cpu_cfs_throttled_seconds_total container_cpu_system_seconds_total
	container_cpu_usage_seconds_total container_cpu_user_seconds_total container_fs_inodes_free container_fs_inodes_total
	container_fs_limit_bytes container_fs_reads_bytes_total container_fs_reads_total container_fs_usage_bytes
	container_fs_writes_bytes_total container_fs_writes_total container_last_seen container_memory_cache container_memory_failcnt
	container_memory_failures_total container_memory_kernel_usage container_memory_mapped_file container_memory_max_usage_bytes
	container_memory_rss container_memory_swap container_memory_total_active_file_bytes container_memory_total_inactive_file_bytes
	container_memory_usage_bytes container_memory_working_set_bytes container_network_receive_bytes_total
	container_network_receive_errors_total container_network_receive_packets_dropped_total container_network_receive_packets_total
	container_network_transmit_bytes_total container_network_transmit_errors_total container_network_transmit_packets_dropped_total
	container_network_transmit_packets_total container_oom_events_total container_pressure_cpu_stalled_seconds_total
	container_pressure_cpu_waiting_seconds_total container_pressure_io_stalled_seconds_total container_pressure_io_waiting_seconds_total
	container_pressure_memory_stalled_seconds_total container_pressure_memory_waiting_seconds_total container_scrape_error
	container_spec_cpu_period container_spec_cpu_quota container_spec_cpu_shares container_spec_memory_limit_bytes
	container_spec_memory_swap_limit_bytes container_start_time_seconds container_threads container_threads_max
	machine_cpu_cores machine_memory_bytes machine_swap_bytes
`)

// measured is what was read for one request.
type measured struct {
	of     map[string]*info.ContainerInfo // by the path of the cgroup
	layers []layer
	err    error
}

// layer is a container whose writable layer is told of.
type layer struct {
	labels    map[string]string
	container container
}

// gatherer gives out what was read; err is why that is not all.
func (m *measured) gatherer(err error) prometheus.Gatherer {
	m.err = err
	all := prometheus.NewRegistry()
	all.MustRegister(metrics.NewPrometheusCollector(m, labelsOf, written(), clock.RealClock{}, info.RequestOptions{}), Reading(m.write))
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		list, err := all.Gather()
		return slices.DeleteFunc(list, func(f *dto.MetricFamily) bool { return !slices.Contains(families, f.GetName()) }), err
	})
}

// labelNames are those of cAdvisor's metrics in the kubelet.
var labelNames = []string{"container", "id", "image", "name", "namespace", "pod"}

func labelsOf(c *info.ContainerInfo) map[string]string {
	all := map[string]string{}
	for _, name := range labelNames {
		all[name] = c.Spec.Labels[name]
	}
	return all
}

// GetRequestedContainersInfo are all that were read.
func (m *measured) GetRequestedContainersInfo(string, info.RequestOptions) (map[string]*info.ContainerInfo, error) {
	return m.of, m.err
}

// GetVersionInfo is nothing here.
func (*measured) GetVersionInfo() (*info.VersionInfo, error) { return &info.VersionInfo{}, nil }

// GetMachineInfo is what is needed of the machine.
func (*measured) GetMachineInfo() (*info.MachineInfo, error) {
	return &info.MachineInfo{NumCores: runtime.NumCPU()}, nil
}

var (
	ofLayer = append(slices.Clone(labelNames), "device")

	layerUsed       = desc("container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.", ofLayer...)
	layerLimit      = desc("container_fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem.", ofLayer...)
	layerInodesFree = desc("container_fs_inodes_free", "Number of available Inodes", ofLayer...)
	layerInodes     = desc("container_fs_inodes_total", "Number of Inodes", ofLayer...)
)

// write writes what the machine has, and the use of writable layers, which cAdvisor does not know.
func (m *measured) write(out chan<- prometheus.Metric) {
	if machine, err := machineMemory(); err == nil {
		out <- gauge(desc("machine_cpu_cores", "Number of logical CPU cores."), float64(runtime.NumCPU()))
		out <- gauge(desc("machine_memory_bytes", "Amount of memory installed on the machine."), float64(machine.memory))
		out <- gauge(desc("machine_swap_bytes", "Amount of swap memory available on the machine."), float64(machine.swap))
	}
	for _, l := range m.layers {
		used := l.container.usage.GetWritableLayer()
		if used.GetUsedBytes() == nil {
			continue
		}
		var labels []string
		for _, name := range labelNames {
			labels = append(labels, l.labels[name])
		}
		labels = append(labels, deviceOf(used.GetFsId().GetMountpoint()))
		put := func(d *prometheus.Desc, v uint64) {
			out <- prometheus.NewMetricWithTimestamp(at(used.Timestamp).Time, gauge(d, float64(v), labels...))
		}
		put(layerUsed, used.UsedBytes.Value)
		if fs, err := FileSystem(used.GetFsId().GetMountpoint()); err == nil {
			put(layerLimit, *fs.CapacityBytes)
			put(layerInodesFree, *fs.InodesFree)
			put(layerInodes, *fs.Inodes)
		}
	}
}
