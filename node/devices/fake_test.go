package devices

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeDriver is a driver on a socket, which prepares one device for each claim.
type fakeDriver struct {
	drav1.UnimplementedDRAPluginServer
	healthapi.UnimplementedDRAResourceHealthServer
	health         chan []*healthapi.DeviceHealth // what is told of its devices
	serves         []string                       // the services of health
	name, endpoint string
	server         *grpc.Server

	mu       sync.Mutex
	calls    []string        // "prepare a,b", "unprepare a"
	prepared map[string]bool // by claim UID
	answer   func(call string, claims []*drav1.Claim, results map[string]string) error
}

// serve starts a driver; answer may change what each claim is answered with, which is empty
// for a success.
func serve(t *testing.T, name string, answer func(call string, claims []*drav1.Claim, results map[string]string) error) *fakeDriver {
	d := &fakeDriver{name: name, endpoint: filepath.Join(t.TempDir(), "dra.sock"), prepared: map[string]bool{}, answer: answer}
	d.start(t)
	t.Cleanup(func() { d.server.Stop() })
	return d
}

// serveHealth starts a driver that tells how its devices are at services.
func serveHealth(t *testing.T, name string, services ...string) *fakeDriver {
	d := &fakeDriver{name: name, endpoint: filepath.Join(t.TempDir(), "dra.sock"), prepared: map[string]bool{}, health: make(chan []*healthapi.DeviceHealth), serves: services}
	d.start(t)
	t.Cleanup(func() { d.server.Stop() })
	return d
}

func (d *fakeDriver) start(t *testing.T) {
	listener := assert.Get(net.Listen("unix", d.endpoint)).Must(t)
	d.server = grpc.NewServer()
	drav1.RegisterDRAPluginServer(d.server, d)
	drav1beta1.RegisterDRAPluginServer(d.server, drav1beta1.V1ServerWrapper{DRAPluginServer: d})
	if slices.Contains(d.serves, healthapi.DRAResourceHealthService) {
		healthapi.RegisterDRAResourceHealthServer(d.server, d)
	}
	if slices.Contains(d.serves, healthv1alpha1.DRAResourceHealthService) {
		healthv1alpha1.RegisterDRAResourceHealthServer(d.server, healthapi.V1ServerWrapper{Server: d})
	}
	go func() { _ = d.server.Serve(listener) }()
}

func (d *fakeDriver) NodePrepareResources(_ context.Context, r *drav1.NodePrepareResourcesRequest) (*drav1.NodePrepareResourcesResponse, error) {
	results, err := d.results("prepare", r.Claims)
	response := &drav1.NodePrepareResourcesResponse{Claims: map[string]*drav1.NodePrepareResourceResponse{}}
	for uid, text := range results {
		response.Claims[uid] = &drav1.NodePrepareResourceResponse{Error: text, Devices: []*drav1.Device{{
			RequestNames: []string{"gpu"}, PoolName: "pool", DeviceName: "gpu-0", CdiDeviceIds: []string{d.name + "/gpu=" + uid},
		}}}
	}
	return response, err
}

func (d *fakeDriver) NodeUnprepareResources(_ context.Context, r *drav1.NodeUnprepareResourcesRequest) (*drav1.NodeUnprepareResourcesResponse, error) {
	results, err := d.results("unprepare", r.Claims)
	response := &drav1.NodeUnprepareResourcesResponse{Claims: map[string]*drav1.NodeUnprepareResourceResponse{}}
	for uid, text := range results {
		response.Claims[uid] = &drav1.NodeUnprepareResourceResponse{Error: text}
	}
	return response, err
}

func (d *fakeDriver) NodeWatchResources(_ *healthapi.NodeWatchResourcesRequest, to healthapi.DRAResourceHealth_NodeWatchResourcesServer) error {
	for {
		select {
		case <-to.Context().Done():
			return nil
		case devices, open := <-d.health:
			if !open {
				return nil
			}
			if err := to.Send(&healthapi.NodeWatchResourcesResponse{Devices: devices}); err != nil {
				return err
			}
		}
	}
}

func (d *fakeDriver) results(call string, claims []*drav1.Claim) (map[string]string, error) {
	d.mu.Lock()
	results, text := map[string]string{}, call
	for _, claim := range claims {
		results[claim.Uid] = ""
		d.prepared[claim.Uid] = call == "prepare"
		text += " " + claim.Name
	}
	d.calls = append(d.calls, text)
	d.mu.Unlock()
	if d.answer == nil {
		return results, nil
	}
	return results, d.answer(call, claims, results)
}

func (d *fakeDriver) takeCalls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}
