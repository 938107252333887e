package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// healthDriver has one device, and tells how it is. Upstream's test driver tells it only if
// it is part of the test's own program.
type healthDriver struct {
	drav1.UnimplementedDRAPluginServer
	healthapi.UnimplementedDRAResourceHealthServer
	registerapi.UnimplementedRegistrationServer
	name, endpoint string
	says           chan *healthapi.DeviceHealth
}

// newHealthDriver has a driver in this process register with a node.
func newHealthDriver(t *testing.T, node *member.Member, name string) *healthDriver {
	t.Helper()
	d := &healthDriver{name: name, endpoint: filepath.Join(t.TempDir(), "dra.sock"), says: make(chan *healthapi.DeviceHealth)}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + name + `"`}}},
	}}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.ResourceSliceSpec{
		Driver: name, NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}, Devices: []resourceapi.Device{{Name: "gpu-0"}},
	}}
	assert.Must(t, assert.ErrorOf(client.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})))
	t.Cleanup(func() {
		_ = client.ResourceV1().DeviceClasses().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	d.serve(t, d.endpoint)
	d.serve(t, filepath.Join(node.Root.Dir, "plugins_registry", name+".sock"))
	assert.Must(t, assert.ErrorOf(client.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})))
	t.Cleanup(func() {
		_ = client.ResourceV1().ResourceSlices().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return d
}

func (d *healthDriver) serve(t *testing.T, socket string) {
	t.Helper()
	assert.Must(t, os.MkdirAll(filepath.Dir(socket), 0o750))
	listener := assert.Get(net.Listen("unix", socket)).Must(t)
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, d)
	drav1.RegisterDRAPluginServer(server, d)
	healthapi.RegisterDRAResourceHealthServer(server, d)
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
}

func (d *healthDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: registerapi.DRAPlugin, Name: d.name, Endpoint: d.endpoint,
		SupportedVersions: []string{drav1.DRAPluginService, healthapi.DRAResourceHealthService},
	}, nil
}

func (d *healthDriver) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (d *healthDriver) NodePrepareResources(_ context.Context, r *drav1.NodePrepareResourcesRequest) (*drav1.NodePrepareResourcesResponse, error) {
	response := &drav1.NodePrepareResourcesResponse{Claims: map[string]*drav1.NodePrepareResourceResponse{}}
	for _, claim := range r.Claims {
		response.Claims[claim.Uid] = &drav1.NodePrepareResourceResponse{Devices: []*drav1.Device{{RequestNames: []string{"one"}, PoolName: "pool", DeviceName: "gpu-0"}}}
	}
	return response, nil
}

func (d *healthDriver) NodeUnprepareResources(_ context.Context, r *drav1.NodeUnprepareResourcesRequest) (*drav1.NodeUnprepareResourcesResponse, error) {
	response := &drav1.NodeUnprepareResourcesResponse{Claims: map[string]*drav1.NodeUnprepareResourceResponse{}}
	for _, claim := range r.Claims {
		response.Claims[claim.Uid] = &drav1.NodeUnprepareResourceResponse{}
	}
	return response, nil
}

func (d *healthDriver) NodeWatchResources(_ *healthapi.NodeWatchResourcesRequest, to healthapi.DRAResourceHealth_NodeWatchResourcesServer) error {
	for {
		select {
		case <-to.Context().Done():
			return nil
		case is := <-d.says:
			is.Device = &healthapi.DeviceIdentifier{PoolName: "pool", DeviceName: "gpu-0"}
			is.HealthCheckTimeoutSeconds = 600
			if err := to.Send(&healthapi.NodeWatchResourcesResponse{Devices: []*healthapi.DeviceHealth{is}}); err != nil {
				return err
			}
		}
	}
}

// TestHealthOfClaims: the API shows how a pod's devices are, after a kill -9 of the agent
// as well (A-DRA-12).
func TestHealthOfClaims(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "ResourceHealthStatusMessage")
	node := newNode(t, member.Config{})
	d := newHealthDriver(t, node, "health.example.com")
	c := newCluster(t, node)
	c.apply(strings.ReplaceAll(sharedClaim, "DRIVER", d.name))
	c.create(strings.NewReplacer("NAME", "pod", "env | grep claim_; ", "").Replace(userOfClaim))
	awaitShown := func(want v1.ResourceHealthStatus, message string) {
		t.Helper()
		c.await("pod", "to have a device that is "+string(want), func(pod *v1.Pod) bool {
			list := statusOf(pod, "main").AllocatedResourcesStatus
			if len(list) != 1 || list[0].Name != "claim:gpu" || len(list[0].Resources) != 1 {
				return false
			}
			is := list[0].Resources[0]
			said := ""
			if is.Message != nil {
				said = *is.Message
			}
			return is.ResourceID == "health.example.com/pool/gpu-0" && is.Health == want && said == message
		})
	}
	awaitShown(v1.ResourceHealthStatusUnknown, "")
	d.says <- &healthapi.DeviceHealth{Health: healthapi.HealthStatus_HEALTHY}
	awaitShown(v1.ResourceHealthStatusHealthy, "")
	d.says <- &healthapi.DeviceHealth{Health: healthapi.HealthStatus_UNHEALTHY, Message: "too hot"}
	awaitShown(v1.ResourceHealthStatusUnhealthy, "too hot")
	restart(t, node)
	d.says <- &healthapi.DeviceHealth{Health: healthapi.HealthStatus_UNHEALTHY, Message: "still too hot"}
	awaitShown(v1.ResourceHealthStatusUnhealthy, "still too hot")
}
