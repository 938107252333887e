package stats

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthapi "google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Calls of drivers are counted by method and what came of them.
func TestDrivers(t *testing.T) {
	m := newMetrics()
	socket := filepath.Join(t.TempDir(), "s")
	l := assert.Get(net.Listen("unix", socket)).Must(t)
	server := grpc.NewServer()
	healthapi.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }() // until Stop
	t.Cleanup(server.Stop)
	for _, option := range []grpc.DialOption{m.CSI("disk"), m.Claims("gpu")} {
		conn := assert.Get(grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), option)).Must(t)
		for _, service := range []string{"", "other", "other"} {
			_, _ = healthapi.NewHealthClient(conn).Check(t.Context(), &healthapi.HealthCheckRequest{Service: service}) // it does not know the other
		}
		_ = conn.Close()
	}
	pod := &v1.Pod{}
	m.Carried(pod, lifecycle.PrepareClaims{}, lifecycle.ClaimsPrepared{}, time.Second)
	m.Carried(pod, lifecycle.PrepareClaims{}, lifecycle.ClaimsPrepared{Result: lifecycle.Result{Failure: &lifecycle.Failure{}}}, time.Second)
	m.Carried(pod, lifecycle.UnprepareClaims{}, lifecycle.ClaimsUnprepared{}, time.Second)
	m.ClaimsInUse(func() map[string]int { return map[string]int{"<any>": 2, "gpu": 1} })
	m.PluginRegisters("example.com/gpu")
	m.PluginAllocated("example.com/gpu", 2*time.Second)
	m.VolumeOperation(volumes.Operation{Plugin: "kubernetes.io/csi:disk", Name: "volume_mount", Took: time.Second})
	m.VolumeOperation(volumes.Operation{Plugin: "kubernetes.io/csi:disk", Name: "volume_mount", Failed: true, Took: time.Second})
	m.VolumeMeasured("du", 2*time.Second)
	m.SELinuxLabel(volumes.LabelContainerWarnings, "RWX")
	m.SELinuxLabel(volumes.LabelsAdmitted, "kubernetes.io/csi/disk", "RWOP")
	checkLines(t, m.Handler(), []string{
		// A-VOL-7, A-VOL-8, A-CSI-19
		`storage_operation_duration_seconds_sum{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/csi:disk"} 1`,
		`storage_operation_duration_seconds_sum{migrated="false",operation_name="volume_mount",status="fail-unknown",volume_plugin="kubernetes.io/csi:disk"} 1`,
		`kubelet_volume_metric_collection_duration_seconds_sum{metric_source="du"} 2`,
		`volume_manager_selinux_container_warnings_total{access_mode="RWX"} 1`,
		`volume_manager_selinux_volumes_admitted_total{access_mode="RWOP",volume_plugin="kubernetes.io/csi/disk"} 1`,
		// A-CSI-17
		`csi_operations_seconds_count{driver_name="disk",grpc_status_code="OK",method_name="/grpc.health.v1.Health/Check",migrated="false"} 1`,
		`csi_operations_seconds_count{driver_name="disk",grpc_status_code="NotFound",method_name="/grpc.health.v1.Health/Check",migrated="false"} 2`,
		// A-DRA-13
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="OK",method_name="/grpc.health.v1.Health/Check"} 1`,
		`dra_grpc_operations_duration_seconds_count{driver_name="gpu",grpc_status_code="NotFound",method_name="/grpc.health.v1.Health/Check"} 2`,
		`dra_operations_duration_seconds_count{is_error="false",operation_name="PrepareResources"} 1`,
		`dra_operations_duration_seconds_count{is_error="true",operation_name="PrepareResources"} 1`,
		`dra_operations_duration_seconds_sum{is_error="false",operation_name="UnprepareResources"} 1`,
		`dra_resource_claims_in_use{driver_name="<any>"} 2`, `dra_resource_claims_in_use{driver_name="gpu"} 1`,
		// A-DEV-16
		`kubelet_device_plugin_registration_total{resource_name="example.com/gpu"} 1`,
		`kubelet_device_plugin_alloc_duration_seconds_sum{resource_name="example.com/gpu"} 2`,
	})
}

type ofDriver func(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error)

// newDriverStats are of a pod with a claim and with an inline volume.
func newDriverStats(ask ofDriver) *Stats {
	s := newStats(&stub{})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}, Spec: v1.PodSpec{Volumes: []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "own", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}},
	}}}
	bound := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	bound.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d"}
	s.VolumePeriod = time.Minute
	s.Pods.List = func() []*v1.Pod { return []*v1.Pod{pod} }
	s.Pods.Bound = func(context.Context, *v1.Pod, *v1.Volume) (*v1.PersistentVolume, error) { return bound, nil }
	s.Pods.OfDriver = ask
	return s
}

func (s *Stats) ofPod(ctx context.Context) []statsapi.VolumeStats {
	list := []statsapi.VolumeStats{}
	for _, v := range s.sizes(ctx, map[types.UID]*v1.Pod{"u": s.Pods.List()[0]}, isMeasured)["u"] {
		v.stats.Time = metav1.Time{}
		list = append(list, v.stats)
	}
	return list
}

func fsOf(capacity, used uint64) statsapi.FsStats {
	return statsapi.FsStats{
		CapacityBytes: &capacity, UsedBytes: &used, AvailableBytes: new(capacity - used), Inodes: new(uint64), InodesUsed: new(uint64), InodesFree: new(uint64),
	}
}

func bytesUsed(capacity, used int64) []*csi.VolumeUsage {
	return []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: capacity, Used: used, Available: capacity - used}}
}

// TestFiguresOfDrivers: the figures of volumes are those of their drivers; an answer without any is an
// error (A-CSI-16).
func TestFiguresOfDrivers(t *testing.T) {
	answers := map[string]*csi.NodeGetVolumeStatsResponse{"pv": {Usage: bytesUsed(100, 30)}, "own": {}}
	s := newDriverStats(func(_ context.Context, _ types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
		return answers[name], nil
	})
	asked := make(chan string, 2)
	s.Measured = func(source string, _ time.Duration) { asked <- source }
	claim := &statsapi.PVCReference{Name: "claim", Namespace: "ns"}
	assert.Deep(t, "figures", []statsapi.VolumeStats{{Name: "data", PVCRef: claim, FsStats: fsOf(100, 30)}}, s.ofPod(t.Context()))
	sources := []string{<-asked, <-asked}
	assert.True(t, sources[0] == "d" && sources[1] == "d", "A-VOL-8: measured by %q", sources)
}

// TestDriverThatHangs holds up the first answer for a moment, and no other volume (A-CSI-16).
func TestDriverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		s := newDriverStats(func(_ context.Context, _ types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
			if name == "pv" {
				<-released
			}
			return &csi.NodeGetVolumeStatsResponse{Usage: bytesUsed(7, 0)}, nil
		})
		for _, waits := range []time.Duration{sizePatience, 0, 0} {
			began := time.Now()
			list := s.ofPod(t.Context())
			assert.True(t, len(list) == 1 && list[0].Name == "own", "volumes: %+v", list)
			assert.Equal(t, waits, time.Since(began), "the answer took")
		}
		close(released)
		synctest.Wait()
		list := s.ofPod(t.Context())
		assert.True(t, len(list) == 2, "volumes: %+v", list)
	})
}
