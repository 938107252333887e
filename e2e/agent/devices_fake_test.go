package agent

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	plaintext "google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// ownPlugin is a device plugin of this process, whose devices the test breaks. It gives
// containers a device node and a variable for each of them.
type ownPlugin struct {
	api.UnimplementedDevicePluginServer
	registerapi.UnimplementedRegistrationServer
	resource v1.ResourceName
	server   *grpc.Server
	lists    chan []*api.Device
}

// newOwnPlugin registers a plugin that has these devices, all of them healthy.
func newOwnPlugin(t *testing.T, node *member.Member, resource v1.ResourceName, ids ...string) *ownPlugin {
	t.Helper()
	dir := filepath.Join(node.Root.Dir, "device-plugins")
	p := serveOwnPlugin(t, filepath.Join(dir, "own.sock"), resource, ids...)
	connection := assert.Get(grpc.NewClient("unix:"+filepath.Join(dir, "kubelet.sock"), grpc.WithTransportCredentials(plaintext.NewCredentials()))).Must(t)
	defer func() { _ = connection.Close() }()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: "own.sock", ResourceName: string(resource)}
	assert.Must(t, assert.ErrorOf(api.NewRegistrationClient(connection).Register(t.Context(), request)))
	awaitDevices(t, node, resource, int64(len(ids)), int64(len(ids)))
	return p
}

// newFoundPlugin is newOwnPlugin for a plugin that the node finds by its socket.
func newFoundPlugin(t *testing.T, node *member.Member, resource v1.ResourceName, ids ...string) *ownPlugin {
	t.Helper()
	p := serveOwnPlugin(t, foundSocket(node), resource, ids...)
	awaitDevices(t, node, resource, int64(len(ids)), int64(len(ids)))
	return p
}

func foundSocket(node *member.Member) string {
	return filepath.Join(node.Root.Dir, "plugins_registry", "own.sock")
}

func serveOwnPlugin(t *testing.T, socket string, resource v1.ResourceName, ids ...string) *ownPlugin {
	t.Helper()
	listener := assert.Get(net.Listen("unix", socket)).Must(t)
	p := &ownPlugin{server: grpc.NewServer(), lists: make(chan []*api.Device, 10), resource: resource}
	api.RegisterDevicePluginServer(p.server, p)
	registerapi.RegisterRegistrationServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
	t.Cleanup(p.server.Stop)
	p.tell(nil, ids...)
	return p
}

// GetInfo says who the plugin is: its devices are at the same socket.
func (p *ownPlugin) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.DevicePlugin, Name: string(p.resource), SupportedVersions: []string{api.Version}}, nil
}

// NotifyRegistrationStatus is told whether it is registered.
func (p *ownPlugin) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

// tell lists the devices: those that are broken, and the healthy ones, near to NUMA node 0.
func (p *ownPlugin) tell(broken []string, healthy ...string) {
	var list []*api.Device
	for health, ids := range map[string][]string{api.Unhealthy: broken, api.Healthy: healthy} {
		for _, id := range ids {
			list = append(list, &api.Device{ID: id, Health: health, Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 0}}}})
		}
	}
	p.lists <- list
}

// GetDevicePluginOptions has each start reported.
func (p *ownPlugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{PreStartRequired: true}, nil
}

func (p *ownPlugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case list := <-p.lists:
			if err := stream.Send(&api.ListAndWatchResponse{Devices: list}); err != nil {
				return err
			}
		}
	}
}

func (p *ownPlugin) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	given := &api.ContainerAllocateResponse{Envs: map[string]string{}}
	for _, id := range r.ContainerRequests[0].DevicesIds {
		given.Envs["HAS_"+id] = "yes"
		given.Devices = append(given.Devices, &api.DeviceSpec{HostPath: "/dev/zero", ContainerPath: "/dev/own/" + id, Permissions: "rw"})
	}
	return &api.AllocateResponse{ContainerResponses: []*api.ContainerAllocateResponse{given}}, nil
}

// PreStartContainer is told of each start.
func (p *ownPlugin) PreStartContainer(context.Context, *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	return &api.PreStartContainerResponse{}, nil
}
