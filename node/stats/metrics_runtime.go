package stats

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/volumes"
)

// runtimeCalls count the calls of the container runtime.
type runtimeCalls struct {
	total, errors *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	sandbox       *prometheus.HistogramVec
	sandboxErrors *prometheus.CounterVec
}

func newRuntimeCalls(f factory) runtimeCalls {
	return runtimeCalls{
		total:  f.counters("kubelet_runtime_operations_total", "Cumulative number of runtime operations by operation type.", "operation_type"),
		errors: f.counters("kubelet_runtime_operations_errors_total", "Cumulative number of runtime operation errors by operation type.", "operation_type"),
		duration: f.histograms("kubelet_runtime_operations_duration_seconds", "Duration in seconds of runtime operations. Broken down by operation type.",
			prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type"),
		sandbox: f.histograms("kubelet_run_podsandbox_duration_seconds", "Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.",
			prometheus.DefBuckets, "runtime_handler"),
		sandboxErrors: f.counters("kubelet_run_podsandbox_errors_total", "Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.", "runtime_handler"),
	}
}

// Runtime is a connection to the runtime whose calls are counted.
func (m *Metrics) Runtime(conn grpc.ClientConnInterface) grpc.ClientConnInterface {
	return counted{conn, m}
}

type counted struct {
	grpc.ClientConnInterface
	metrics *Metrics
}

// Invoke counts a call.
func (c counted) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	began := time.Now()
	err := c.ClientConnInterface.Invoke(ctx, method, args, reply, options...)
	took := time.Since(began).Seconds()
	c.metrics.operation(method, took, err)
	if request, ok := args.(*runtimeapi.RunPodSandboxRequest); ok {
		c.metrics.sandboxRun(request, took, err)
	}
	return err
}

// NewStream counts the opening of a stream.
func (c counted) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	began := time.Now()
	stream, err := c.ClientConnInterface.NewStream(ctx, desc, method, options...)
	c.metrics.operation(method, time.Since(began).Seconds(), err)
	return stream, err
}

func (m *Metrics) operation(method string, took float64, err error) {
	name := operationType(method)
	m.runtime.total.WithLabelValues(name).Inc()
	m.runtime.duration.WithLabelValues(name).Observe(took)
	if err != nil {
		m.runtime.errors.WithLabelValues(name).Inc()
	}
}

func (m *Metrics) sandboxRun(r *runtimeapi.RunPodSandboxRequest, took float64, err error) {
	m.runtime.sandbox.WithLabelValues(r.RuntimeHandler).Observe(took)
	if err != nil {
		m.runtime.sandboxErrors.WithLabelValues(r.RuntimeHandler).Inc()
	}
}

// operationType is the kubelet's name of a call: run_podsandbox for
// /runtime.v1.RuntimeService/RunPodSandbox.
func operationType(method string) string {
	name := method[strings.LastIndex(method, "/")+1:]
	if name == "UpdateContainerResources" {
		return "update_container"
	}
	var text strings.Builder
	for i, r := range strings.ReplaceAll(name, "PodSandbox", "Podsandbox") {
		if unicode.IsUpper(r) && i > 0 {
			text.WriteByte('_')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// volumeCounts count what becomes of volumes (A-CSI-19, A-VOL-7, A-VOL-8).
type volumeCounts struct {
	labels     map[volumes.LabelCount]*prometheus.GaugeVec // of SELinux, by what they count
	operations *prometheus.HistogramVec
	measuring  *prometheus.HistogramVec
}

func newVolumeCounts(f factory) volumeCounts {
	c := volumeCounts{
		labels: map[volumes.LabelCount]*prometheus.GaugeVec{},
		operations: f.histograms("storage_operation_duration_seconds", "Storage operation duration", []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600},
			"volume_plugin", "operation_name", "status", "migrated"),
		measuring: f.histograms("kubelet_volume_metric_collection_duration_seconds", "Duration in seconds to calculate volume stats", prometheus.DefBuckets, "metric_source"),
	}
	for what, help := range map[volumes.LabelCount]string{
		volumes.LabelContainerErrors:     "Number of errors when kubelet cannot compute SELinux context for a container. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of containers.",
		volumes.LabelContainerWarnings:   "Number of errors when kubelet cannot compute SELinux context for a container that are ignored. They will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		volumes.LabelPodMismatchErrors:   "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		volumes.LabelPodMismatchWarnings: "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
	} {
		c.labels[what] = f.gauges(string(what), help, "access_mode")
	}
	for what, help := range map[volumes.LabelCount]string{
		volumes.LabelVolumeMismatchErrors:   "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
		volumes.LabelVolumeMismatchWarnings: "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.",
		volumes.LabelsAdmitted:              "Number of volumes whose SELinux context was fine and will be mounted with mount -o context option.",
	} {
		c.labels[what] = f.gauges(string(what), help, "volume_plugin", "access_mode")
	}
	return c
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
