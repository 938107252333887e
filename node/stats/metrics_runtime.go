package stats

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeCalls count the calls of the container runtime.
type runtimeCalls struct {
	total, errors *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	sandbox       *prometheus.HistogramVec
	sandboxErrors *prometheus.CounterVec
}

func newRuntimeCalls() runtimeCalls {
	return runtimeCalls{
		total:  counterVec("kubelet_runtime_operations_total", "Cumulative number of runtime operations by operation type.", "operation_type"),
		errors: counterVec("kubelet_runtime_operations_errors_total", "Cumulative number of runtime operation errors by operation type.", "operation_type"),
		duration: histogram("kubelet_runtime_operations_duration_seconds", "Duration in seconds of runtime operations. Broken down by operation type.",
			prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type"),
		sandbox: histogram("kubelet_run_podsandbox_duration_seconds", "Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.",
			prometheus.DefBuckets, "runtime_handler"),
		sandboxErrors: counterVec("kubelet_run_podsandbox_errors_total", "Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.", "runtime_handler"),
	}
}

func (r runtimeCalls) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.total, r.errors, r.duration, r.sandbox, r.sandboxErrors}
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
