package stats

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/lifecycle"
)

// driverCounts count what drivers of volumes, claims and devices are asked (A-CSI-17,
// A-DRA-13, A-DEV-16).
type driverCounts struct {
	csi, claims   *prometheus.HistogramVec // calls
	claimsOfPods  *prometheus.HistogramVec
	registrations *prometheus.CounterVec // of device plugins
	deviceTimes   *prometheus.HistogramVec
	volumes       volumeCounts
}

func newDriverCounts(f factory) driverCounts {
	times := prometheus.ExponentialBucketsRange(.1, 40, 15)
	return driverCounts{
		csi: f.histograms("csi_operations_seconds", "Container Storage Interface operation duration with gRPC error code status total",
			[]float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600}, "driver_name", "method_name", "grpc_status_code", "migrated"),
		claims: f.histograms("dra_grpc_operations_duration_seconds", "Duration in seconds of the DRA gRPC operations", times, "driver_name", "method_name", "grpc_status_code"),
		claimsOfPods: f.histograms("dra_operations_duration_seconds", "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
			times, "operation_name", "is_error"),
		registrations: f.counters("kubelet_device_plugin_registration_total", "Cumulative number of device plugin registrations. Broken down by resource name.", "resource_name"),
		deviceTimes:   f.histograms("kubelet_device_plugin_alloc_duration_seconds", "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.", prometheus.DefBuckets, "resource_name"),
		volumes:       newVolumeCounts(f),
	}
}

// CSI is an option of connections to a driver of volumes, whose calls are counted.
func (m *Metrics) CSI(driver string) grpc.DialOption {
	return calls(func(method, code string, took time.Duration) {
		m.drivers.csi.WithLabelValues(driver, method, code, "false").Observe(took.Seconds())
	})
}

// Claims is an option of connections to a driver of resource claims, whose calls are counted.
func (m *Metrics) Claims(driver string) grpc.DialOption {
	return calls(func(method, code string, took time.Duration) {
		m.drivers.claims.WithLabelValues(driver, method, code).Observe(took.Seconds())
	})
}

func calls(called func(method, code string, took time.Duration)) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
		began := time.Now()
		err := next(ctx, method, request, reply, conn, options...)
		called(method, status.Code(err).String(), time.Since(began))
		return err
	})
}

// ClaimsInUse adds how many claims are prepared, by the name of a driver that they have
// devices of; "<any>" are all of them.
func (m *Metrics) ClaimsInUse(read func() map[string]int) {
	inUse := desc("dra_resource_claims_in_use", "The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.", "driver_name")
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		for driver, count := range read() {
			out <- gauge(inUse, float64(count), driver)
		}
	}))
}

// claimsHandled counts that the claims of a pod were prepared or unprepared.
func (d driverCounts) claimsHandled(operation string, failure *lifecycle.Failure, took time.Duration) {
	d.claimsOfPods.WithLabelValues(operation, strconv.FormatBool(failure != nil)).Observe(took.Seconds())
}

// PluginRegisters counts a device plugin that wants to register.
func (m *Metrics) PluginRegisters(resource string) {
	m.drivers.registrations.WithLabelValues(resource).Inc()
}

// PluginAllocated counts an answer of a device plugin to Allocate.
func (m *Metrics) PluginAllocated(resource string, took time.Duration) {
	m.drivers.deviceTimes.WithLabelValues(resource).Observe(took.Seconds())
}

// askDriver has the CSI driver of a volume say how full it is (A-CSI-16). name is the one that the
// driver knows.
func (s *Stats) askDriver(ctx context.Context, pod *v1.Pod, name string) (*statsapi.FsStats, error) {
	if s.Pods.OfDriver == nil {
		return nil, nil
	}
	now := metav1.Now()
	answer, err := s.Pods.OfDriver(ctx, pod.UID, name)
	if err != nil || answer == nil {
		return nil, err
	}
	if answer.GetUsage() == nil {
		return nil, errors.New("failed to get usage from response. usage is nil")
	}
	found := usageOf(answer.GetUsage())
	found.Time = now
	return found, nil
}

// usageOf has what a driver says; what it does not say is 0, as with the kubelet.
func usageOf(list []*csi.VolumeUsage) *statsapi.FsStats {
	fs := &statsapi.FsStats{
		AvailableBytes: new(uint64), CapacityBytes: new(uint64), UsedBytes: new(uint64),
		InodesFree: new(uint64), Inodes: new(uint64), InodesUsed: new(uint64),
	}
	for _, u := range list {
		switch u.GetUnit() {
		case csi.VolumeUsage_BYTES:
			*fs.AvailableBytes, *fs.CapacityBytes, *fs.UsedBytes = uint64(u.GetAvailable()), uint64(u.GetTotal()), uint64(u.GetUsed())
		case csi.VolumeUsage_INODES:
			*fs.InodesFree, *fs.Inodes, *fs.InodesUsed = uint64(u.GetAvailable()), uint64(u.GetTotal()), uint64(u.GetUsed())
		default: // it is of no figure here
		}
	}
	return fs
}
