package localdriver

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

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
	got := len(m.volumes.list())
	assert.True(t, got == 6, "%d volumes, want 6", got)
	for _, id := range []string{"..", "../volumes/a", "a/b"} {
		assert.NoError(t, assert.ErrorOf(m.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: ID("node-a", id)})), "delete ", id, ", which is none")
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
	_, deleted := m.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: other})
	_, expanded := m.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{VolumeId: other, CapacityRange: &csi.CapacityRange{}})
	_, staged := m.NodeStageVolume(t.Context(), &csi.NodeStageVolumeRequest{VolumeId: other, StagingTargetPath: t.TempDir(), VolumeCapability: writer(true)})
	_, snapshot := m.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: other})
	_, cloned := m.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "c", VolumeCapabilities: []*csi.VolumeCapability{writer(true)}, VolumeContentSource: &csi.VolumeContentSource{
		Type: &csi.VolumeContentSource_Volume{Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: other}},
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
