package counts

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

var (
	podsByPhase = prometheus.NewDesc("lifepod_pods", "Number of pods, by phase.", []string{"phase"}, nil)
	podsReady   = prometheus.NewDesc("lifepod_pods_ready", "Number of pods that are Ready.", nil, nil)
	waiting     = prometheus.NewDesc("lifepod_containers_waiting", "Number of containers that wait, by reason.", []string{"reason"}, nil)
)

// phases are there from the start.
var phases = []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, v1.PodUnknown}

// Census is how many pods there are, counted when somebody asks.
type Census func() []*v1.PodStatus

// Describe is that of an unchecked collector: which reasons there are changes.
func (c Census) Describe(chan<- *prometheus.Desc) {}

// Collect counts.
func (c Census) Collect(out chan<- prometheus.Metric) {
	byPhase, reasons, areReady := map[v1.PodPhase]int{}, map[string]int{}, 0
	for _, status := range c() {
		byPhase[status.Phase]++
		if slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }) {
			areReady++
		}
		for _, s := range lifecycle.ContainerStatuses(status) {
			if w := s.State.Waiting; w != nil && w.Reason != "" {
				reasons[w.Reason]++
			}
		}
	}
	for _, phase := range phases {
		out <- prometheus.MustNewConstMetric(podsByPhase, prometheus.GaugeValue, float64(byPhase[phase]), string(phase))
	}
	out <- prometheus.MustNewConstMetric(podsReady, prometheus.GaugeValue, float64(areReady))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		out <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(reasons[reason]), reason)
	}
}
