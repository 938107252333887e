package stats

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lifepod/lifepod/worker/volumes"
)

// volumeCounts count what becomes of volumes (A-CSI-19, A-VOL-7, A-VOL-8).
type volumeCounts struct {
	labels     map[volumes.LabelCount]*prometheus.GaugeVec // of SELinux, by what they count
	operations *prometheus.HistogramVec
	measuring  *prometheus.HistogramVec
}

func newVolumeCounts() volumeCounts {
	c := volumeCounts{
		labels: map[volumes.LabelCount]*prometheus.GaugeVec{},
		operations: histogram("storage_operation_duration_seconds", "Storage operation duration", []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600},
			"volume_plugin", "operation_name", "status", "migrated"),
		measuring: histogram("kubelet_volume_metric_collection_duration_seconds", "Duration in seconds to calculate volume stats", prometheus.DefBuckets, "metric_source"),
	}
	for what, help := range map[volumes.LabelCount]string{
		volumes.LabelContainerErrors:     "Number of errors when kubelet cannot compute SELinux context for a container. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of containers.",
		volumes.LabelContainerWarnings:   "Number of errors when kubelet cannot compute SELinux context for a container that are ignored. They will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		volumes.LabelPodMismatchErrors:   "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		volumes.LabelPodMismatchWarnings: "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
	} {
		c.labels[what] = labelGauge(what, help, "access_mode")
	}
	for what, help := range map[volumes.LabelCount]string{
		volumes.LabelVolumeMismatchErrors:   "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		volumes.LabelVolumeMismatchWarnings: "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		volumes.LabelsAdmitted:              "Number of volumes whose SELinux context was fine and will be mounted with mount -o context option.",
	} {
		c.labels[what] = labelGauge(what, help, "volume_plugin", "access_mode")
	}
	return c
}

func labelGauge(what volumes.LabelCount, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: string(what), Help: help}, labels)
}

func (c volumeCounts) collectors() []prometheus.Collector {
	out := []prometheus.Collector{c.operations, c.measuring}
	for _, gauge := range c.labels {
		out = append(out, gauge)
	}
	return out
}

// SELinuxLabel counts what has become of the SELinux label of a volume.
func (m *Metrics) SELinuxLabel(what volumes.LabelCount, labels ...string) {
	m.drivers.volumes.labels[what].WithLabelValues(labels...).Inc()
}

// VolumeOperation counts what was done for a volume.
func (m *Metrics) VolumeOperation(o volumes.Operation) {
	status := "success"
	if o.Failed {
		status = "fail-unknown"
	}
	m.drivers.volumes.operations.WithLabelValues(o.Plugin, o.Name, status, "false").Observe(o.Took.Seconds())
}

// VolumeMeasured counts how long it took to measure a volume: source says in which way.
func (m *Metrics) VolumeMeasured(source string, took time.Duration) {
	m.drivers.volumes.measuring.WithLabelValues(source).Observe(took.Seconds())
}
