package stats

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthapi "google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Calls of drivers are counted by method and what came of them.
func TestDrivers(t *testing.T) {
	m := newMetrics()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	assert.Must(t, err)
	server := grpc.NewServer()
	healthapi.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }() // until Stop
	t.Cleanup(server.Stop)
	for _, option := range []grpc.DialOption{m.CSI("disk"), m.Claims("gpu")} {
		conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), option)
		assert.Must(t, err)
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
