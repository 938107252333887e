package localdriver

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	csispec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/node/devices"
)

// registered is the part of a node that hears of CSI drivers.
type registered struct{ endpoint chan string }

// Validate is that of the node.
func (r registered) Validate(name, endpoint string, versions []string) error {
	return csi.NewRegistry(csi.RegistryConfig{Client: fake.NewClientset(), Log: slog.New(slog.DiscardHandler)}).Validate(name, endpoint, versions)
}

func (r registered) Register(_ context.Context, name, endpoint string, _ []string) error {
	if name == Name {
		r.endpoint <- endpoint
	}
	return nil
}

func (r registered) Deregister(string, string) {}

// The driver registers with its node as any other does, and then serves it. A call that is
// made when it ends is refused, and a copy under way is broken off.
func TestServe(t *testing.T) {
	m := newMachine(t)
	folder := filepath.Join(t.TempDir(), "plugins_registry")
	heard := registered{endpoint: make(chan string, 1)}
	assert.Serves(t, devices.NewPluginWatcher(folder, map[string]devices.PluginHandler{devices.VolumePlugin: heard}, slog.New(slog.DiscardHandler)).Run)
	end := assert.Serves(t, func(ctx context.Context) error { return m.Serve(ctx, filepath.Join(folder, "local.sock")) })
	connection := assert.Get(grpc.NewClient("unix:"+<-heard.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))).Must(t)
	defer func() { _ = connection.Close() }()
	info, err := csispec.NewNodeClient(connection).NodeGetInfo(t.Context(), &csispec.NodeGetInfoRequest{})
	assert.True(t, err == nil && info.GetNodeId() == "node-a" && info.GetAccessibleTopology().GetSegments()[TopologyKey] == "node-a",
		"node: %v (%v)", info, err)
	from, done := m.create("a", 16*megabyte, true, nil), make(chan struct{})
	m.calls.Go(func() {
		<-m.ctx.Done()
		close(done)
	})
	end()
	select {
	case <-done:
	default:
		t.Error("the driver ended before a call that was under way")
	}
	_, err = m.CreateSnapshot(t.Context(), &csispec.CreateSnapshotRequest{Name: "s", SourceVolumeId: from.GetVolumeId()})
	assert.True(t, status.Code(err) == codes.Unavailable, "a call to a driver that has ended: %v, want Unavailable", err)
	assert.Fails(t, assert.ErrorOf(copyImage(m.ctx, m.volumes.image("a"), filepath.Join(t.TempDir(), "copy"))), "a copy was not broken off")
}

// A volume says that no pod had it yet until it is staged for one, also if it is a copy of one that
// was used.
func TestUnused(t *testing.T) {
	m := newMachine(t)
	unused := func() (ids []string) {
		list := assert.Get(m.ListVolumes(t.Context(), &csispec.ListVolumesRequest{})).Must(t)
		for _, entry := range list.GetEntries() {
			if Unused(entry.GetVolume()) {
				ids = append(ids, entry.GetVolume().GetVolumeId())
			}
		}
		return ids
	}
	m.create("a", 16*megabyte, false, nil)
	m.create("b", 16*megabyte, true, nil)
	assert.Deep(t, "unused at first", []string{"node-a:a", "node-a:b"}, unused())
	m.use("a", false)
	m.use("b", true)
	m.create("c", 16*megabyte, false, m.snapshot("s", "a"))
	m.restart()
	assert.Deep(t, "unused then, the copy", []string{"node-a:c"}, unused())
}

// Names that are no names of files have IDs that are.
func TestNames(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"../../etc", ".new-a", "A", "ä", "name with / and \x00", strings.Repeat("n", 128)} {
		v := m.create(name, 16*megabyte, true, nil)
		local, err := m.local("volume", v.GetVolumeId())
		if again := m.create(name, 16*megabyte, true, nil); again.GetVolumeId() != v.GetVolumeId() || err != nil || len(v.GetVolumeId()) > 128 || filepath.Base(local) != local {
			t.Errorf("%q has the IDs %q and %q (%v)", name, v.GetVolumeId(), again.GetVolumeId(), err)
		}
	}
	assert.Equal(t, 6, len(m.volumes.list()), "volumes")
	for _, id := range []string{"..", "../volumes/a", "a/b"} {
		assert.NoError(t, assert.ErrorOf(m.DeleteVolume(t.Context(), &csispec.DeleteVolumeRequest{VolumeId: ID("node-a", id)})), "delete ", id, ", which is none")
	}
}

// An ID says on which node its volume is, to which calls for it are sent. Another node says
// that it is none of its own, and a deletion there is no success.
func TestOtherNode(t *testing.T) {
	m := newMachine(t)
	id := m.create("a", 16*megabyte, true, nil).GetVolumeId()
	node, err := NodeOf(id)
	assert.True(t, id == ID("node-a", "a") && node == "node-a" && err == nil, "ID %q is of node %q (%v)", id, node, err)
	other := ID("node-b", "a")
	_, deleted := m.DeleteVolume(t.Context(), &csispec.DeleteVolumeRequest{VolumeId: other})
	_, expanded := m.ControllerExpandVolume(t.Context(), &csispec.ControllerExpandVolumeRequest{VolumeId: other, CapacityRange: &csispec.CapacityRange{}})
	_, staged := m.NodeStageVolume(t.Context(), &csispec.NodeStageVolumeRequest{VolumeId: other, StagingTargetPath: t.TempDir(), VolumeCapability: writer(true)})
	_, snapshot := m.CreateSnapshot(t.Context(), &csispec.CreateSnapshotRequest{Name: "s", SourceVolumeId: other})
	_, cloned := m.CreateVolume(t.Context(), &csispec.CreateVolumeRequest{Name: "c", VolumeCapabilities: []*csispec.VolumeCapability{writer(true)}, VolumeContentSource: &csispec.VolumeContentSource{
		Type: &csispec.VolumeContentSource_Volume{Volume: &csispec.VolumeContentSource_VolumeSource{VolumeId: other}},
	}})
	for call, err := range map[string]error{"CreateVolume": cloned, "DeleteVolume": deleted, "ControllerExpandVolume": expanded, "NodeStageVolume": staged, "CreateSnapshot": snapshot} {
		assert.True(t, status.Code(err) == codes.NotFound && strings.Contains(err.Error(), `is on node "node-b"`),
			"%s of a volume of another node: %v", call, err)
	}
	for _, none := range []string{"a", ":a", "node-a:", ""} {
		node, err := NodeOf(none)
		assert.True(t, err != nil, "%q is of node %q", none, node)
	}
}
