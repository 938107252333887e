package stats

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CAdvisorHandler answers /metrics/cadvisor: the metrics of the kubelet's cAdvisor
// that there are figures for, with its labels.
func (s *Stats) CAdvisorHandler() http.Handler {
	return scraped(s.Log, func(ctx context.Context, out chan<- prometheus.Metric) {
		w := writer{out}
		w.machine()
		failed := 0.0
		if err := s.cadvisor(ctx, w); err != nil {
			failed = 1
			s.Log.Warn("can't measure the resource usage of containers", "err", err)
		}
		out <- gauge(containerError, failed)
	})
}

func (s *Stats) cadvisor(ctx context.Context, w writer) error {
	sandboxes, err := s.running(ctx)
	if err != nil {
		return err
	}
	for _, name := range s.levels() {
		s.write(w, labels{id: name}, name)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, pod := range s.Pods.List() {
		pods[pod.UID] = pod
	}
	image := s.sandboxImage(ctx, sandboxes)
	for _, sb := range sandboxes {
		if pod := pods[sb.uid()]; pod != nil {
			s.writePod(w, sb, pod, image)
		}
	}
	return nil
}

// levels are the cgroups above the pods', and those of the system's parts.
func (s *Stats) levels() []string {
	levels := []string{"/", s.Pods.CgroupRoot}
	for _, name := range folders(s.Pods.CgroupRoot) {
		if isLevel(name) {
			levels = append(levels, path.Join(s.Pods.CgroupRoot, name))
		}
	}
	for _, name := range []string{cgroupOf(os.Getpid()), s.runtimeCgroup()} {
		if name != "" && name != "/" && name != levels[len(levels)-1] {
			levels = append(levels, name)
		}
	}
	return levels
}

// isLevel says whether a cgroup is that of a QoS class, such as burstable or
// kubepods-burstable.slice.
func isLevel(name string) bool {
	name = strings.TrimSuffix(name, ".slice")
	return strings.HasSuffix(name, "burstable") || strings.HasSuffix(name, "besteffort")
}

// writePod writes a pod's cgroup, its sandbox's with the network, and its containers'.
func (s *Stats) writePod(w writer, sb sandbox, pod *v1.Pod, image string) {
	name := s.Pods.Cgroup(pod)
	of := labels{id: name, pod: pod.Name, namespace: pod.Namespace}
	s.write(w, of, name)
	below := folders(name)
	if folder := folderOf(below, sb.Id); folder != "" {
		of := of
		of.id, of.name, of.image = path.Join(name, folder), sb.Id, image
		s.write(w, of, of.id)
		if list, err := links(firstProcess(of.id)); err == nil && !pod.Spec.HostNetwork {
			w.of(of).network(list)
		}
	}
	for _, c := range sb.containers {
		folder := folderOf(below, c.Id)
		if folder == "" {
			continue
		}
		of := of
		of.id, of.name, of.container, of.image = path.Join(name, folder), c.Id, c.GetMetadata().GetName(), imageOf(pod, c)
		s.write(w, of, of.id)
		w.of(of).layer(c)
	}
}

// write writes what one cgroup says; it may be gone.
func (s *Stats) write(w writer, of labels, name string) {
	c, err := read(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			s.Log.Debug("can't read a cgroup", "cgroup", name, "err", err)
		}
		return
	}
	f := w.of(of)
	f.usage(c)
	f.limits(c)
	f.level("container_start_time_seconds", time.Time{}, uint64(max(0, madeAt(name).Unix())))
	f.level("container_last_seen", c.at, uint64(c.at.Unix()))
}

// imageOf is the image's name as the status has it.
func imageOf(pod *v1.Pod, c container) string {
	for _, list := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, status := range list {
			if strings.HasSuffix(status.ContainerID, "//"+c.Id) {
				return status.Image
			}
		}
	}
	return c.GetImage().GetUserSpecifiedImage()
}

// folders are the cgroups in a cgroup.
func folders(name string) []string {
	entries, _ := os.ReadDir(dirOf(name, "memory")) // a cgroup that has gone has none
	var list []string
	for _, entry := range entries {
		if entry.IsDir() {
			list = append(list, entry.Name())
		}
	}
	return list
}

// folderOf is the one of a container: its ID, or a systemd scope with it.
func folderOf(list []string, id string) string {
	for _, name := range list {
		if strings.Contains(name, id) {
			return name
		}
	}
	return ""
}

// firstProcess is one of a cgroup's processes; empty if there is none.
func firstProcess(name string) string {
	dir := dirOf(name, "memory")
	if cgroups.IsCgroup2UnifiedMode() {
		dir = filepath.Join("/sys/fs/cgroup", name)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // it may have gone
	pid, _, _ := strings.Cut(string(text), "\n")
	return pid
}

// seconds are those of a duration in nanoseconds.
func seconds(nanos uint64) float64 { return float64(nanos) / float64(time.Second) }

// labels are those of cAdvisor's metrics in the kubelet.
type labels struct{ container, id, image, name, namespace, pod string }

// ofCAdvisor are their names, sorted.
var ofCAdvisor = []string{"container", "id", "image", "name", "namespace", "pod"}

func (l labels) values() []string {
	return []string{l.container, l.id, l.image, l.name, l.namespace, l.pod}
}

// metric is one of cAdvisor's.
type metric struct {
	help string
	more []string // labels
}

var onDevice, onInterface = []string{"device"}, []string{"interface"}

var containerError = desc("container_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise")

// names are the metrics that are served, as cAdvisor describes them.
var names = map[string]metric{
	"container_start_time_seconds":                     {"Start time of the container since unix epoch in seconds.", nil},
	"container_last_seen":                              {"Last time a container was seen by the exporter", nil},
	"container_cpu_usage_seconds_total":                {"Cumulative cpu time consumed in seconds.", []string{"cpu"}},
	"container_cpu_user_seconds_total":                 {"Cumulative user cpu time consumed in seconds.", nil},
	"container_cpu_system_seconds_total":               {"Cumulative system cpu time consumed in seconds.", nil},
	"container_cpu_cfs_periods_total":                  {"Number of elapsed enforcement period intervals.", nil},
	"container_cpu_cfs_throttled_periods_total":        {"Number of throttled period intervals.", nil},
	"container_cpu_cfs_throttled_seconds_total":        {"Total time duration the container has been throttled.", nil},
	"container_cpu_cfs_burst_periods_total":            {"Number of periods when burst occurs.", nil},
	"container_cpu_cfs_burst_seconds_total":            {"Total time duration the container has been bursted.", nil},
	"container_spec_cpu_period":                        {"CPU period of the container.", nil},
	"container_spec_cpu_quota":                         {"CPU quota of the container.", nil},
	"container_spec_cpu_shares":                        {"CPU share of the container.", nil},
	"container_spec_memory_limit_bytes":                {"Memory limit for the container.", nil},
	"container_spec_memory_swap_limit_bytes":           {"Memory swap limit for the container.", nil},
	"container_memory_cache":                           {"Number of bytes of page cache memory.", nil},
	"container_memory_rss":                             {"Size of RSS in bytes.", nil},
	"container_memory_kernel_usage":                    {"Size of kernel memory allocated in bytes.", nil},
	"container_memory_mapped_file":                     {"Size of memory mapped files in bytes.", nil},
	"container_memory_swap":                            {"Container swap usage in bytes.", nil},
	"container_memory_failcnt":                         {"Number of memory usage hits limits", nil},
	"container_memory_usage_bytes":                     {"Current memory usage in bytes, including all memory regardless of when it was accessed", nil},
	"container_memory_max_usage_bytes":                 {"Maximum memory usage recorded in bytes", nil},
	"container_memory_working_set_bytes":               {"Current working set in bytes.", nil},
	"container_memory_total_active_file_bytes":         {"Current total active file in bytes.", nil},
	"container_memory_total_inactive_file_bytes":       {"Current total inactive file in bytes.", nil},
	"container_memory_failures_total":                  {"Cumulative count of memory allocation failures.", []string{"failure_type", "scope"}},
	"container_oom_events_total":                       {"Count of out of memory events observed for the container", nil},
	"container_threads":                                {"Number of threads running inside the container", nil},
	"container_threads_max":                            {"Maximum number of threads allowed inside the container, infinity if value is zero", nil},
	"container_fs_usage_bytes":                         {"Number of bytes that are consumed by the container on this filesystem.", onDevice},
	"container_fs_limit_bytes":                         {"Number of bytes that can be consumed by the container on this filesystem.", onDevice},
	"container_fs_inodes_free":                         {"Number of available Inodes", onDevice},
	"container_fs_inodes_total":                        {"Number of Inodes", onDevice},
	"container_fs_reads_total":                         {"Cumulative count of reads completed", onDevice},
	"container_fs_writes_total":                        {"Cumulative count of writes completed", onDevice},
	"container_fs_reads_bytes_total":                   {"Cumulative count of bytes read", onDevice},
	"container_fs_writes_bytes_total":                  {"Cumulative count of bytes written", onDevice},
	"container_network_receive_bytes_total":            {"Cumulative count of bytes received", onInterface},
	"container_network_receive_packets_total":          {"Cumulative count of packets received", onInterface},
	"container_network_receive_packets_dropped_total":  {"Cumulative count of packets dropped while receiving", onInterface},
	"container_network_receive_errors_total":           {"Cumulative count of errors encountered while receiving", onInterface},
	"container_network_transmit_bytes_total":           {"Cumulative count of bytes transmitted", onInterface},
	"container_network_transmit_packets_total":         {"Cumulative count of packets transmitted", onInterface},
	"container_network_transmit_packets_dropped_total": {"Cumulative count of packets dropped while transmitting", onInterface},
	"container_network_transmit_errors_total":          {"Cumulative count of errors encountered while transmitting", onInterface},
	"container_pressure_cpu_stalled_seconds_total":     {"Total time duration no tasks in the container could make progress due to CPU congestion.", nil},
	"container_pressure_cpu_waiting_seconds_total":     {"Total time duration tasks in the container have waited due to CPU congestion.", nil},
	"container_pressure_memory_stalled_seconds_total":  {"Total time duration no tasks in the container could make progress due to memory congestion.", nil},
	"container_pressure_memory_waiting_seconds_total":  {"Total time duration tasks in the container have waited due to memory congestion.", nil},
	"container_pressure_io_stalled_seconds_total":      {"Total time duration no tasks in the container could make progress due to IO congestion.", nil},
	"container_pressure_io_waiting_seconds_total":      {"Total time duration tasks in the container have waited due to IO congestion.", nil},
}

var descriptions = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for name, m := range names {
		all[name] = desc(name, m.help, slices.Concat(ofCAdvisor, m.more)...)
	}
	return all
}()
