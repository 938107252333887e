package volumes

// LabelCount is what is counted of the SELinux labels of volumes: the name of the metric (A-CSI-19).
type LabelCount string

// What is counted, by access mode. Of volumes, not of containers and pods, by plugin before that.
const (
	LabelContainerErrors        LabelCount = "volume_manager_selinux_container_errors_total"
	LabelContainerWarnings      LabelCount = "volume_manager_selinux_container_warnings_total"
	LabelPodMismatchErrors      LabelCount = "volume_manager_selinux_pod_context_mismatch_errors_total"
	LabelPodMismatchWarnings    LabelCount = "volume_manager_selinux_pod_context_mismatch_warnings_total"
	LabelVolumeMismatchErrors   LabelCount = "volume_manager_selinux_volume_context_mismatch_errors_total"
	LabelVolumeMismatchWarnings LabelCount = "volume_manager_selinux_volume_context_mismatch_warnings_total"
	LabelsAdmitted              LabelCount = "volume_manager_selinux_volumes_admitted_total"
)
