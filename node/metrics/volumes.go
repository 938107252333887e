package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// volumeCounts count what becomes of volumes (A-CSI-19).
type volumeCounts struct {
	labels map[string]*prometheus.GaugeVec // of SELinux, by what they count
}

func newVolumeCounts() volumeCounts {
	c := volumeCounts{labels: map[string]*prometheus.GaugeVec{}}
	for what, help := range map[string]string{
		"container_errors_total":              "Number of errors when kubelet cannot compute SELinux context for a container. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of containers.",
		"container_warnings_total":            "Number of errors when kubelet cannot compute SELinux context for a container that are ignored. They will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		"pod_context_mismatch_errors_total":   "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		"pod_context_mismatch_warnings_total": "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
	} {
		c.labels[what] = labelGauge(what, help, "access_mode")
	}
	for what, help := range map[string]string{
		"volume_context_mismatch_errors_total":   "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		"volume_context_mismatch_warnings_total": "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		"volumes_admitted_total":                 "Number of volumes whose SELinux context was fine and will be mounted with mount -o context option.",
	} {
		c.labels[what] = labelGauge(what, help, "volume_plugin", "access_mode")
	}
	return c
}

func labelGauge(what, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "volume_manager_selinux_" + what, Help: help}, labels)
}

func (c volumeCounts) collectors() []prometheus.Collector {
	var out []prometheus.Collector
	for _, gauge := range c.labels {
		out = append(out, gauge)
	}
	return out
}

// SELinuxLabel counts what has become of the SELinux label of a volume: what is the metric's name
// without volume_manager_selinux_.
func (m *Metrics) SELinuxLabel(what string, labels ...string) {
	m.drivers.volumes.labels[what].WithLabelValues(labels...).Inc()
}
