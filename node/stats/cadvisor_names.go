package stats

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

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
