package csi

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeDriver is a driver on a socket.
type fakeDriver struct {
	csi.UnimplementedNodeServer
	endpoint string
	server   *grpc.Server

	mu       sync.Mutex
	about    DriverOnNode
	infoErr  error
	infos    atomic.Int32                    // how often it was asked for what it knows of the node
	requests []any                           // the others that it got
	answer   func(ctx context.Context) error // to any of them; nil: none fails
	can      []csi.NodeServiceCapability_RPC_Type
}

// serve starts a driver.
func serve(t *testing.T, says DriverOnNode) *fakeDriver {
	t.Helper()
	d := &fakeDriver{about: says}
	d.begin(t, d)
	return d
}

// begin serves a node's calls at a socket until the test ends.
func (d *fakeDriver) begin(t *testing.T, node csi.NodeServer) {
	t.Helper()
	folder := assert.Get(os.MkdirTemp("", "csi")).Must(t)
	d.endpoint = filepath.Join(folder, "csi sock%2f?#")
	d.start(t, node)
	t.Cleanup(func() {
		d.server.Stop()
		assert.NoError(t, os.RemoveAll(folder))
	})
}

func (d *fakeDriver) start(t *testing.T, node csi.NodeServer) {
	t.Helper()
	_ = os.Remove(d.endpoint)
	listener := assert.Get(net.Listen("unix", d.endpoint)).Must(t)
	d.server = grpc.NewServer()
	csi.RegisterNodeServer(d.server, node)
	go func() { _ = d.server.Serve(listener) }()
}

func (d *fakeDriver) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *fakeDriver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.infos.Add(1)
	return &csi.NodeGetInfoResponse{
		NodeId: d.about.NodeID, MaxVolumesPerNode: d.about.MaxVolumes, AccessibleTopology: &csi.Topology{Segments: d.about.Topology},
	}, d.infoErr
}

func (d *fakeDriver) note(ctx context.Context, request any) error {
	d.mu.Lock()
	d.requests = append(d.requests, request)
	answer := d.answer
	d.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx)
}

func (d *fakeDriver) NodeGetCapabilities(ctx context.Context, r *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	answer := &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{{}}}
	for _, one := range d.can {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: one}},
		})
	}
	return answer, d.note(ctx, r)
}

func (d *fakeDriver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	return &csi.NodeStageVolumeResponse{}, d.note(ctx, r)
}

func (d *fakeDriver) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, d.note(ctx, r)
}

func (d *fakeDriver) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return &csi.NodePublishVolumeResponse{}, d.note(ctx, r)
}

func (d *fakeDriver) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return &csi.NodeUnpublishVolumeResponse{}, d.note(ctx, r)
}

func (d *fakeDriver) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	return &csi.NodeExpandVolumeResponse{CapacityBytes: 1 << 20}, d.note(ctx, r)
}

func (d *fakeDriver) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Total: 7}}}, d.note(ctx, r)
}

// clusterAPI is the API server of a node in a test.
type clusterAPI struct {
	t      *testing.T
	client *fake.Clientset
	log    *logged
	fails  atomic.Pointer[func(verb, resource string) error] // what requests fail with
}

func newClusterAPI(t *testing.T, objects []runtime.Object) *clusterAPI {
	a := &clusterAPI{t: t, client: fake.NewClientset(objects...), log: &logged{}}
	a.client.PrependReactor("*", "*", func(action k8stesting.Action) (handled bool, _ runtime.Object, err error) {
		if fails := a.fails.Load(); fails != nil {
			err = (*fails)(action.GetVerb(), action.GetResource().Resource)
		}
		return err != nil, nil, err
	})
	return a
}

// fail has requests of one kind fail with an error, unless it is nil; without a resource those of any.
func (a *clusterAPI) fail(verb, resource string, err func() error) {
	fails := func(v, r string) error {
		if v == verb && (r == resource || resource == "") {
			return err()
		}
		return nil
	}
	a.fails.Store(&fails)
}

func (a *clusterAPI) nodeObject() *v1.Node {
	a.t.Helper()
	return assert.Get(a.client.CoreV1().Nodes().Get(a.t.Context(), "n", metav1.GetOptions{})).Must(a.t)
}

// csiNode is nil if there is none.
func (a *clusterAPI) csiNode() *storagev1.CSINode {
	a.t.Helper()
	node, err := a.client.StorageV1().CSINodes().Get(a.t.Context(), "n", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.Must(a.t, err)
	node.ManagedFields, node.TypeMeta = nil, metav1.TypeMeta{}
	return node
}

// await waits until something is so.
func (a *clusterAPI) await(what string, is func() bool) {
	a.t.Helper()
	err := wait.PollUntilContextTimeout(a.t.Context(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		a.t.Fatalf("%s: %v\n%s", what, err, a.log.text())
	}
}

// csidriverMachine is a node with its drivers, in a test.
type csidriverMachine struct {
	*Registry
	*clusterAPI

	mu      sync.Mutex
	changes int // of the drivers
}

// logged is what was logged.
type logged struct {
	mu sync.Mutex
	strings.Builder
}

func (l *logged) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(text)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func csiTestNode(uid types.UID, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid, Labels: labels}}
}

// csidriverNewMachine has a registry that runs, whose Node is known unless there is none.
func csidriverNewMachine(t *testing.T, objects ...runtime.Object) *csidriverMachine {
	t.Helper()
	m := &csidriverMachine{clusterAPI: newClusterAPI(t, objects)}
	log := slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m.Registry = NewRegistry(RegistryConfig{Client: m.client, Node: "n", Log: log, Changed: m.noteChange})
	assert.Runs(t, m.Run)
	for _, o := range objects {
		if node, ok := o.(*v1.Node); ok {
			m.Node.Heard(node)
		}
	}
	return m
}

func (m *csidriverMachine) noteChange() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
}

func (m *csidriverMachine) register(name string, d *fakeDriver) {
	m.t.Helper()
	assert.Must(m.t, m.Register(m.t.Context(), name, d.endpoint, []string{"1.0.0"}))
}

// csiDrivers are those of the CSINode.
func (m *csidriverMachine) csiDrivers() []storagev1.CSINodeDriver { return m.csiNode().Spec.Drivers }
