package stats

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/pods/counts"
)

// podCounts count what happens to pods and their containers.
type podCounts struct {
	started, startErrors, startedUsers, startUsersErrors prometheus.Counter

	startDuration, perPod       prometheus.Histogram
	startSLI, startTotal        *prometheus.HistogramVec
	containers, containerErrors *prometheus.CounterVec
	terminated                  *prometheus.CounterVec
	pulls                       *prometheus.HistogramVec
	fallbacks                   prometheus.Counter

	rejections, resizes, restarted *prometheus.CounterVec
	orphaned                       prometheus.Counter

	own *counts.Counts // those that lifepod has besides the kubelet's
}

var (
	startBuckets = []float64{0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	pullBuckets  = []float64{1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
)

func newPodCounts(f factory) podCounts {
	p := podCounts{
		own:              counts.New(),
		started:          f.counter("kubelet_started_pods_total", "Cumulative number of pods started"),
		startErrors:      f.counter("kubelet_started_pods_errors_total", "Cumulative number of errors when starting pods"),
		startedUsers:     f.counter("kubelet_started_user_namespaced_pods_total", "Cumulative number of pods with user namespaces started. This metric will only be collected on Linux."),
		startUsersErrors: f.counter("kubelet_started_user_namespaced_pods_errors_total", "Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux."),
		startDuration:    f.histogram("kubelet_pod_start_duration_seconds", "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run", startBuckets),
		perPod:           f.histogram("kubelet_containers_per_pod_count", "The number of containers per pod.", prometheus.ExponentialBuckets(1, 2, 5)),
		startSLI:         f.histograms("kubelet_pod_start_sli_duration_seconds", "Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch", startBuckets),
		startTotal:       f.histograms("kubelet_pod_start_total_duration_seconds", "Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch", startBuckets),
		containers:       f.counters("kubelet_started_containers_total", "Cumulative number of containers started", "container_type"),
		containerErrors:  f.counters("kubelet_started_containers_errors_total", "Cumulative number of errors when starting containers", "container_type", "code"),
		terminated:       f.counters("kubelet_terminated_containers_total", "Cumulative number of container terminations.", "container_type", "exit_code", "reason"),
		pulls:            f.histograms("kubelet_image_pull_duration_seconds", "Duration in seconds to pull an image.", pullBuckets, "image_size_in_bytes"),
		fallbacks:        f.counter("kubelet_lifecycle_handler_http_fallbacks_total", "The number of times lifecycle handlers successfully fell back to http from https."),
		rejections:       f.counters("kubelet_admission_rejections_total", "Cumulative number pod admission rejections by the Kubelet.", "reason"),
		resizes:          f.counters("kubelet_container_requested_resizes_total", "Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.", "resource", "requirement", "operation"),
		restarted:        f.counters("kubelet_restarted_pods_total", "Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)", "static"),
		orphaned:         f.counter("kubelet_orphaned_runtime_pods_total", "Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual."),
	}
	for _, static := range []string{"", "true"} { // they are there from the start
		p.restarted.WithLabelValues(static)
	}
	return p
}

// Rejected counts a pod that the node refuses (A-ADM-2). There may be any number of
// extended resources: they are one reason.
func (m *Metrics) Rejected(reason string) {
	if of, found := strings.CutPrefix(reason, "OutOf"); found && strings.Contains(of, "/") {
		reason = "OutOfExtendedResources"
	}
	m.pods.rejections.WithLabelValues(reason).Inc()
}

// Restarted counts a pod that ends and comes again with the same UID (B-WRK-18).
func (m *Metrics) Restarted(static bool) { m.pods.restarted.WithLabelValues(staticLabel(static)).Inc() }

// Journal counts what was written to a pod's journal, or why not (worker.Engine).
func (m *Metrics) Journal(entries int, took time.Duration, err error) {
	m.pods.own.Journal(entries, took, err)
}

// Orphaned counts a pod that only the runtime knows (B-WRK-21).
func (m *Metrics) Orphaned() { m.pods.orphaned.Inc() }

func staticLabel(static bool) string {
	if static {
		return "true"
	}
	return ""
}

// Updated counts the resizes that a newer version of a pod asks for (KEP-1287).
func (m *Metrics) Updated(before, after *v1.Pod) {
	for _, lists := range [][2][]v1.Container{{before.Spec.InitContainers, after.Spec.InitContainers}, {before.Spec.Containers, after.Spec.Containers}} {
		for i := range min(len(lists[0]), len(lists[1])) {
			old, now := lists[0][i].Resources, lists[1][i].Resources
			m.resized("requests", old.Requests, now.Requests)
			m.resized("limits", old.Limits, now.Limits)
		}
	}
}

func (m *Metrics) resized(requirement string, before, after v1.ResourceList) {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if operation := operation(before[name], after[name]); operation != "" {
			m.pods.resizes.WithLabelValues(string(name), requirement, operation).Inc()
		}
	}
}

func operation(before, after resource.Quantity) string {
	switch sign := after.Cmp(before); {
	case sign == 0:
		return ""
	case before.IsZero():
		return "add"
	case after.IsZero():
		return "remove"
	case sign < 0:
		return "decrease"
	}
	return "increase"
}
