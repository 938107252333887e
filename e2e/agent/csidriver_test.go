package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

const (
	ownCSIDriver = "own-csi.example.com"
	ownTopology  = "topology.own-csi.example.com/zone"
)

// csiDriver is a CSI driver of this process, which only knows what it says of the node.
type csiDriver struct {
	csi.UnimplementedNodeServer
	registerapi.UnimplementedRegistrationServer
	zone     string
	socket   string
	statuses chan *registerapi.RegistrationStatus
}

// newCSIDriver has a driver register on a node.
func newCSIDriver(t *testing.T, node *member.Member, zone string) *csiDriver {
	t.Helper()
	folder := filepath.Join(node.Root.Dir, "plugins_registry")
	d := &csiDriver{zone: zone, socket: filepath.Join(folder, "own-csi.sock"), statuses: make(chan *registerapi.RegistrationStatus, 100)}
	listener := assert.Get(net.Listen("unix", d.socket)).Must(t)
	server := grpc.NewServer()
	csi.RegisterNodeServer(server, d)
	registerapi.RegisterRegistrationServer(server, d)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return d
}

func (d *csiDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: ownCSIDriver, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus is told that it is registered, or why it is not.
func (d *csiDriver) NotifyRegistrationStatus(_ context.Context, s *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	d.statuses <- s
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (d *csiDriver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{
		NodeId: "own-node", MaxVolumesPerNode: 3, AccessibleTopology: &csi.Topology{Segments: map[string]string{ownTopology: d.zone}},
	}, nil
}

// wantStatus awaits that the driver is told that it is registered, or else why not.
func (d *csiDriver) wantStatus(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-d.statuses:
		assert.Require(t, got.PluginRegistered == (want == "") && got.Error == want,
			"the driver was told %v %q, want %q", got.PluginRegistered, got.Error, want)
	case <-time.After(patience):
		t.Fatal("the driver was not told of its registration")
	}
}

// csiNode is that of a node, with these drivers at last.
func csiNode(t *testing.T, node *member.Member, want ...storagev1.CSINodeDriver) (found *storagev1.CSINode) {
	t.Helper()
	diff := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (_ bool, err error) {
		found, err = client.StorageV1().CSINodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err == nil {
			diff = cmp.Diff(append([]storagev1.CSINodeDriver{}, want...), append([]storagev1.CSINodeDriver{}, found.Spec.Drivers...))
		}
		return diff == "", err
	})
	assert.Require(t, err == nil, "A-CSI-2 drivers of the CSINode: %v\n(-want +got):\n%s", err, diff)
	return found
}

// TestCSIDriverRegisters: what a driver says of the node is in the API as long as it is there,
// also over a kill -9 of the agent, and one that contradicts it does not register (A-CSI-2).
func TestCSIDriverRegisters(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	object := assert.Get(client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})).Must(t)
	first := csiNode(t, node)
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: object.UID}}
	if diff := cmp.Diff(owner, first.OwnerReferences); diff != "" || first.Annotations[v1.MigratedPluginsAnnotationKey] == "" {
		t.Errorf("A-CSI-2 owner of the CSINode (-want +got):\n%s\nannotations %v", diff, first.Annotations)
	}
	awaitNode := func(what, zone, nodeIDs string) {
		t.Helper()
		assert.Must(t, node.AwaitNode(t.Context(), what, func(n *v1.Node) bool {
			return n.Labels[ownTopology] == zone && n.Annotations["csi.volume.kubernetes.io/nodeid"] == nodeIDs
		}))
	}

	says := storagev1.CSINodeDriver{
		Name: ownCSIDriver, NodeID: "own-node", TopologyKeys: []string{ownTopology}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(3))},
	}
	d := newCSIDriver(t, node, "a")
	d.wantStatus(t, "")
	csiNode(t, node, says)
	awaitNode("A-CSI-2 topology and node ID", "a", `{"`+ownCSIDriver+`":"own-node"}`)

	assert.Must(t, node.Kill())
	assert.Must(t, node.Run())
	d.wantStatus(t, "")
	assert.True(t, csiNode(t, node, says).UID == first.UID, "A-CSI-2 the CSINode was made anew")

	assert.Must(t, os.Remove(d.socket))
	csiNode(t, node)
	awaitNode("A-CSI-2 the end of the driver", "a", "")
	newCSIDriver(t, node, "b").wantStatus(t, "RegisterPlugin error -- plugin registration failed with err: error updating Node object with CSI driver node info: "+
		`detected topology value collision: driver reported "`+ownTopology+`":"b" but existing label is "`+ownTopology+`":"a"`)
}
