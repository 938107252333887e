package devices

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/numa"
)

const gpu = "example.com/gpu"

// node is Devices at work in a folder.
type node struct {
	*Devices
	t       *testing.T
	changed chan struct{}
	health  chan types.UID
	stop    func() // as the end of an agent
}

// begin begins an agent in a folder; the one before has been stopped.
func begin(t *testing.T, dir string, change func(*Config)) *node {
	n := &node{t: t, changed: make(chan struct{}, 100), health: make(chan types.UID, 100)}
	config := Config{
		Dir: dir, Timeouts: DefaultTimeouts(), Log: slog.New(slog.DiscardHandler),
		Changed: func() { n.changed <- struct{}{} }, HealthChanged: func(uid types.UID) { n.health <- uid },
	}
	if change != nil {
		change(&config)
	}
	n.Devices = New(config)
	serve := assert.Get(n.Listen()).Must(t)
	unserved, stopped := assert.Serves(t, serve), assert.Runs(t, n.Run)
	n.stop = func() {
		unserved()
		stopped()
	}
	return n
}

// allocated is how the admission of a pod has ended.
type allocated struct {
	Given   []v1.ResourceName
	Refusal *numa.Refusal
	short   bool // there are too few devices
}

// Allocate admits a pod for which nothing else is to be near to its devices.
func (n *node) Allocate(ctx context.Context, pod *v1.Pod) allocated {
	return n.allocateBy(ctx, numa.Policy{}, pod)
}

// allocateBy admits a pod as a policy says, on a machine with two NUMA nodes.
func (n *node) allocateBy(ctx context.Context, policy numa.Policy, pod *v1.Pod) (got allocated) {
	a := n.Admit(ctx, pod, []int{0, 1})
	var err error
	if got.Given, err = a.End(policy.Admit(pod, []numa.Provider{a.Provider()})); err != nil {
		got.Refusal = numa.RefusalOf(err)
		_, got.short = errors.AsType[*numa.ErrShort](err)
	}
	return got
}

// folder is a short one: the path of a socket has at most 107 bytes.
func folder(t *testing.T) string {
	dir := assert.Get(os.MkdirTemp("", "lp-dev-")).Must(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// await waits until the node has that many devices of a resource, and that many that can be used.
func (n *node) await(name string, has, usable int64) {
	n.t.Helper()
	late := time.After(20 * time.Second)
	for {
		capacity, allocatable := n.Capacity()
		all, some := capacity[v1.ResourceName(name)], allocatable[v1.ResourceName(name)]
		if all.Value() == has && some.Value() == usable {
			return
		}
		select {
		case <-n.changed:
		case <-late:
			n.t.Fatalf("%s: %d, of which %d can be used; want %d, %d", name, all.Value(), some.Value(), has, usable)
		}
	}
}

// devicesFake is a device plugin.
type devicesFake struct {
	api.UnimplementedDevicePluginServer
	options  *api.DevicePluginOptions
	lists    chan []*api.Device
	allocate func(context.Context, []string) (*api.AllocateResponse, error)
	prefer   func(*api.ContainerPreferredAllocationRequest) []string
	silent   bool          // fails when it is asked for its preference
	started  chan []string // by PreStartContainer
	server   *grpc.Server
}

// plugin begins a plugin and registers it; its devices are healthy.
func (n *node) plugin(socket string, change func(*devicesFake), ids ...string) *devicesFake {
	n.t.Helper()
	f := &devicesFake{options: &api.DevicePluginOptions{}, lists: make(chan []*api.Device, 10), started: make(chan []string, 10), allocate: answer}
	if change != nil {
		change(f)
	}
	listener := assert.Get(net.Listen("unix", filepath.Join(n.Config.Dir, socket))).Must(n.t)
	f.server = grpc.NewServer()
	api.RegisterDevicePluginServer(f.server, f)
	go func() { _ = f.server.Serve(listener) }()
	n.t.Cleanup(f.server.Stop)
	f.lists <- devicesOf(api.Healthy, ids...)
	assert.Must(n.t, n.register(&api.RegisterRequest{Version: api.Version, Endpoint: socket, ResourceName: gpu}))
	return f
}

// healthy begins a plugin, and waits until the node has its devices.
func (n *node) healthy(socket string, ids ...string) *devicesFake {
	n.t.Helper()
	f := n.plugin(socket, nil, ids...)
	n.await(gpu, int64(len(ids)), int64(len(ids)))
	return f
}

// given admits a pod that has to get its devices.
func (n *node) given(pod *v1.Pod) {
	n.t.Helper()
	got := n.Allocate(n.t.Context(), pod)
	assert.Require(n.t, got.Refusal == nil, "%v", got.Refusal)
}

func (n *node) register(request *api.RegisterRequest) error {
	conn, err := grpc.NewClient("unix:"+filepath.Join(n.Config.Dir, Socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = api.NewRegistrationClient(conn).Register(n.t.Context(), request)
	return err
}

func devicesOf(health string, ids ...string) []*api.Device {
	var list []*api.Device
	for _, id := range ids {
		list = append(list, &api.Device{ID: id, Health: health})
	}
	return list
}

// answer gives each device a variable, a file and a name.
func answer(_ context.Context, ids []string) (*api.AllocateResponse, error) {
	given := &api.ContainerAllocateResponse{Envs: map[string]string{}, Annotations: map[string]string{"devices": "given"}}
	for _, id := range ids {
		given.Envs["HAS_"+id] = "yes"
		given.Devices = append(given.Devices, &api.DeviceSpec{HostPath: "/dev/" + id, ContainerPath: "/dev/" + id, Permissions: "rw"})
		given.CdiDevices = append(given.CdiDevices, &api.CDIDevice{Name: gpu + "=" + id})
	}
	return &api.AllocateResponse{ContainerResponses: []*api.ContainerAllocateResponse{given}}, nil
}

func (f *devicesFake) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return f.options, nil
}

func (f *devicesFake) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case list := <-f.lists:
			if list == nil {
				return nil
			}
			if err := stream.Send(&api.ListAndWatchResponse{Devices: list}); err != nil {
				return err
			}
		}
	}
}

func (f *devicesFake) Allocate(ctx context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	return f.allocate(ctx, r.ContainerRequests[0].DevicesIds)
}

func (f *devicesFake) GetPreferredAllocation(_ context.Context, r *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	if f.silent {
		return nil, errors.New("no preference")
	}
	return &api.PreferredAllocationResponse{ContainerResponses: []*api.ContainerPreferredAllocationResponse{{DeviceIDs: f.prefer(r.ContainerRequests[0])}}}, nil
}

func (f *devicesFake) PreStartContainer(_ context.Context, r *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	f.started <- r.DevicesIds
	return &api.PreStartContainerResponse{}, nil
}

// podOf is a pod whose container main asks for devices.
func podOf(uid types.UID, count string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid}}
	pod.Spec.Containers = []v1.Container{asking("main", count)}
	return pod
}

func asking(name, count string) v1.Container {
	c := v1.Container{Name: name}
	c.Resources.Limits = v1.ResourceList{gpu: resource.MustParse(count), "cpu": resource.MustParse("1")}
	return c
}

// has is which devices a container has, by the variables it gets.
func (n *node) has(pod *v1.Pod, container string) (ids string) {
	n.t.Helper()
	for _, c := range ofPod(pod) {
		if c.Name != container {
			continue
		}
		assigned := assert.Get(n.Assigned(n.t.Context(), pod, c)).Must(n.t)
		for _, d := range assigned.Devices {
			ids += d.HostPath + " "
		}
	}
	return ids
}
