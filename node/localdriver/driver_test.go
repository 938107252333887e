package localdriver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mount"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/internal/assert"
)

const megabyte = 1 << 20

// machine has a driver; a new one takes the place of one that was killed.
type machine struct {
	*Driver
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir()}
	m.restart()
	return m
}

func (m *machine) restart() {
	m.t.Helper()
	driver := assert.Get(New(Config{Dir: filepath.Join(m.dir, "volumes"), Node: "node-a", Version: "test", Log: slog.New(slog.DiscardHandler)})).Must(m.t)
	m.Driver = driver
}

func writer(block bool) *csi.VolumeCapability {
	c := &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
	if block {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	}
	return c
}

// create makes a volume; from may be nil. Below, volumes go by what they are called on their
// node.
func (m *machine) create(name string, size int64, block bool, from *csi.VolumeContentSource) *csi.Volume {
	m.t.Helper()
	made := assert.Get(m.CreateVolume(m.t.Context(), &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: size}, VolumeCapabilities: []*csi.VolumeCapability{writer(block)}, VolumeContentSource: from,
	})).Must(m.t)
	return made.GetVolume()
}

func (m *machine) staging(id string) string { return filepath.Join(m.dir, "staging-"+id) }

// use stages and publishes a volume until the test ends; the path is the pod's.
func (m *machine) use(id string, block bool) (target string) {
	m.t.Helper()
	target = filepath.Join(m.dir, "target-"+id)
	assert.Must(m.t, os.MkdirAll(m.staging(id), 0o750))
	m.t.Cleanup(func() { m.stopUsing(id) })
	assert.Must(m.t, assert.ErrorOf(m.NodeStageVolume(m.t.Context(), &csi.NodeStageVolumeRequest{VolumeId: m.id(id), StagingTargetPath: m.staging(id), VolumeCapability: writer(block)})))
	assert.Must(m.t, assert.ErrorOf(m.NodePublishVolume(m.t.Context(), &csi.NodePublishVolumeRequest{VolumeId: m.id(id), StagingTargetPath: m.staging(id), TargetPath: target, VolumeCapability: writer(block)})))
	return target
}

func (m *machine) stopUsing(id string) {
	m.t.Helper()
	ctx := context.WithoutCancel(m.t.Context())
	_, unpublish := m.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: m.id(id), TargetPath: filepath.Join(m.dir, "target-"+id)})
	_, unstage := m.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: m.id(id), StagingTargetPath: m.staging(id)})
	assert.NoError(m.t, errors.Join(unpublish, unstage))
	m.detached(id)
}

// detached waits until a volume has no loop device: others who look for free ones hold it for
// a moment.
func (m *machine) detached(id string) {
	m.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		device, err := findLoop(m.volumes.image(id))
		if err == nil && device == "" || errors.Is(err, os.ErrNotExist) {
			return
		}
		assert.Require(m.t, !time.Now().After(until), "volume %s still has the loop device %q (%v)", id, device, err)
	}
}

func (m *machine) expand(id string, size int64) {
	m.t.Helper()
	assert.Must(m.t, assert.ErrorOf(m.ControllerExpandVolume(m.t.Context(), &csi.ControllerExpandVolumeRequest{VolumeId: m.id(id), CapacityRange: &csi.CapacityRange{RequiredBytes: size}})))
}

// snapshot is the source of a volume that is made from it.
func (m *machine) snapshot(name, volume string) *csi.VolumeContentSource {
	m.t.Helper()
	made := assert.Get(m.CreateSnapshot(m.t.Context(), &csi.CreateSnapshotRequest{Name: name, SourceVolumeId: m.id(volume)})).Must(m.t)
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: made.GetSnapshot().GetSnapshotId()},
	}}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	assert.Must(t, os.WriteFile(path, content, 0o600))
}

func contains(t *testing.T, path, want string) {
	t.Helper()
	got := assert.Get(os.ReadFile(path)).Must(t)
	assert.Equal(t, want, string(got[:min(len(got), len(want))]), "%s", path)
}

// size is how large the file system at a path is.
func size(t *testing.T, path string) int64 {
	t.Helper()
	var stat unix.Statfs_t
	assert.Must(t, unix.Statfs(path, &stat))
	return int64(stat.Blocks) * stat.Bsize
}

// An empty volume is empty, any user can write in it, and it holds what was claimed and no
// more.
func TestClaimedSizeIsTheLimit(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	target := m.use("a", false)
	entries, err := os.ReadDir(target)
	assert.True(t, err == nil && len(entries) == 0, "a new volume has %v (%v)", entries, err)
	info, err := os.Stat(target)
	assert.True(t, err == nil && info.Mode().Perm() == 0o777, "root of a new volume: %v (%v)", info.Mode(), err)
	write(t, filepath.Join(target, "some"), make([]byte, 16*megabyte))
	assert.ErrorIs(t, unix.ENOSPC, os.WriteFile(filepath.Join(target, "more"), make([]byte, 32*megabyte), 0o600), "writing more than was claimed")
}

// What pods change of the root of a volume stays when it is mounted again.
func TestRootStaysAsItIs(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	assert.Must(t, os.Chmod(m.use("a", false), 0o710))
	m.stopUsing("a")
	info, err := os.Stat(m.use("a", false))
	assert.True(t, err == nil && info.Mode().Perm() == 0o710, "root of the volume: %v (%v)", info.Mode(), err)
}

// A volume that has grown while nobody used it has a larger file system when it is mounted,
// with its content.
func TestExpandOffline(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	target := m.use("a", false)
	write(t, filepath.Join(target, "file"), []byte("content"))
	before := size(t, target)
	m.stopUsing("a")
	m.expand("a", 128*megabyte)
	m.restart()
	target = m.use("a", false)
	after := size(t, target)
	assert.True(t, after >= before+64*megabyte, "the file system had %d bytes, and has %d", before, after)
	contains(t, filepath.Join(target, "file"), "content")
}

// A file system that is used grows too, where the kernel lets this process do that; else the
// call fails, and the file system grows when it is mounted next.
func TestExpandOnline(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	target := m.use("a", false)
	before := size(t, target)
	m.expand("a", 128*megabyte)
	_, err := m.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: m.id("a"), VolumePath: target})
	assert.Equal(t, err == nil, mayGrowOnline(t), "online expansion: %v; CAP_SYS_RESOURCE", err)
	if err != nil {
		if text := err.Error(); !strings.Contains(text, "resize2fs: Permission denied") || strings.Contains(text, "\n") {
			t.Errorf("the error is not one line that says why: %q", text)
		}
		m.stopUsing("a")
		m.use("a", false)
	}
	after := size(t, target)
	assert.True(t, after >= before+64*megabyte, "the file system had %d bytes, and has %d", before, after)
}

// TestExpandWhileCopied: what has a copy of the mount keeps a file system from growing where it grows only
// unmounted; the next call grows it.
func TestExpandWhileCopied(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	target := m.use("a", false)
	before := size(t, target)
	other := t.TempDir()
	assert.Must(t, mount.Mount(target, other, "", "bind"))
	m.expand("a", 128*megabyte)
	request := &csi.NodeStageVolumeRequest{VolumeId: m.id("a"), StagingTargetPath: m.staging("a"), VolumeCapability: writer(false)}
	_, err := m.NodeStageVolume(t.Context(), request)
	assert.Equal(t, err == nil, mayGrowOnline(t), "growth while it is mounted elsewhere: %v; CAP_SYS_RESOURCE", err)
	assert.Must(t, errors.Join(mount.Unmount(other), mount.Unmount(target)))
	assert.Must(t, assert.ErrorOf(m.NodeStageVolume(t.Context(), request)))
	after := size(t, m.staging("a"))
	assert.True(t, after >= before+64*megabyte, "the file system had %d bytes, and has %d", before, after)
}

// mayGrowOnline says whether this process has CAP_SYS_RESOURCE, which ext4 wants.
func mayGrowOnline(t *testing.T) bool {
	t.Helper()
	header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	assert.Must(t, unix.Capget(&header, &data[0]))
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// A snapshot of a volume that is used has what was written before, and not what is written
// after; a volume made from it may be larger. A clone has what its source has now.
func TestSnapshotAndClone(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	file := filepath.Join(m.use("a", false), "file")
	write(t, file, []byte("before"))
	snapshot := m.snapshot("s", "a")
	write(t, file, []byte("after"))
	m.create("b", 64*megabyte, false, snapshot)
	m.create("c", 0, false, &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: m.id("a")}}})
	restored, cloned := m.use("b", false), m.use("c", false)
	contains(t, filepath.Join(restored, "file"), "before")
	contains(t, filepath.Join(cloned, "file"), "after")
	got := size(t, restored)
	assert.True(t, got >= 50*megabyte, "the larger volume of the snapshot has a file system of %d bytes", got)
	write(t, file, []byte("not frozen"))
	_, err := m.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: "d", CapacityRange: &csi.CapacityRange{LimitBytes: 16 * megabyte}, VolumeCapabilities: []*csi.VolumeCapability{writer(false)}, VolumeContentSource: snapshot,
	})
	assert.True(t, status.Code(err) == codes.OutOfRange, "a volume smaller than its snapshot: %v, want OutOfRange", err)
}

// A block device has the claimed size, grows, and its snapshot has what was written to it.
func TestBlock(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, true, nil)
	target := m.use("a", true)
	device := assert.Get(os.OpenFile(target, os.O_RDWR, 0)).Must(t)
	defer device.Close()
	assert.Must(t, assert.ErrorOf(device.WriteAt([]byte("content"), 0)))
	m.create("b", 0, true, m.snapshot("s", "a"))
	contains(t, m.use("b", true), "content")
	m.expand("a", 64*megabyte)
	assert.Must(t, assert.ErrorOf(m.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: m.id("a"), VolumePath: target})))
	end, err := device.Seek(0, 2)
	assert.True(t, err == nil && end == 64*megabyte, "the device has %d bytes (%v), want 64 MiB", end, err)
	assert.NoError(t, device.Close())
}

// A driver that was killed while it copied has left a file system frozen, which the next one
// thaws, and something unfinished, which the next one removes.
func TestKilled(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	target := m.use("a", false)
	assert.Must(t, onFolder(target, func(fd int) error { return unix.IoctlSetInt(fd, freeze, 0) }))
	for _, left := range []string{unfinished + "b", deleted + "c"} {
		assert.Must(t, os.MkdirAll(filepath.Join(m.volumes.dir, left, imageFile), 0o700))
	}
	m.restart()
	write(t, filepath.Join(target, "file"), []byte("content"))
	entries, err := os.ReadDir(m.volumes.dir)
	assert.True(t, err == nil && len(entries) == 1 && entries[0].Name() == "a", "volumes: %v (%v), want a", entries, err)
	// What was mounted is found, not mounted twice.
	before := assert.Get(mountsOf(m.volumes.image("a"))).Must(t)
	m.use("a", false)
	after, err := mountsOf(m.volumes.image("a"))
	assert.True(t, err == nil && len(after) == len(before), "%d mounts before, %d after (%v)", len(before), len(after), err)
}

// A volume that is used can't be deleted.
func TestDeleteInUse(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	m.use("a", false)
	_, err := m.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: m.id("a")})
	assert.True(t, status.Code(err) == codes.FailedPrecondition, "delete a volume in use: %v, want FailedPrecondition", err)
	m.stopUsing("a")
	assert.NoError(t, assert.ErrorOf(m.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: m.id("a")})))
}

// What was promised is not promised again, whether it was written or not; what was deleted
// can be.
func TestCapacity(t *testing.T) {
	m := newMachine(t)
	free := assert.Get(m.available()).Must(t)
	half := free/unit/2*unit + 1024*megabyte
	m.create("a", half, true, nil)
	request := &csi.CreateVolumeRequest{Name: "b", CapacityRange: &csi.CapacityRange{RequiredBytes: half}, VolumeCapabilities: []*csi.VolumeCapability{writer(true)}}
	_, err := m.CreateVolume(t.Context(), request)
	assert.True(t, status.Code(err) == codes.ResourceExhausted, "more than is free: %v, want ResourceExhausted", err)
	assert.Must(t, assert.ErrorOf(m.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: m.id("a")})))
	assert.NoError(t, assert.ErrorOf(m.CreateVolume(t.Context(), request)), "after a deletion")
}

// Where blocks can't be shared only what is written is copied.
func TestCopyKeepsHoles(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	assert.Must(t, makeImage(from, 64*megabyte))
	file := assert.Get(os.OpenFile(from, os.O_RDWR, 0)).Must(t)
	defer file.Close()
	content := bytes.Repeat([]byte("content"), 10000)
	assert.Must(t, assert.ErrorOf(file.WriteAt(content, 5*megabyte)))
	assert.Must(t, assert.ErrorOf(copyImage(t.Context(), from, to)))
	got, err := os.ReadFile(to)
	assert.True(t, err == nil && len(got) == 64*megabyte && bytes.Equal(got[5*megabyte:5*megabyte+len(content)], content),
		"the copy has %d bytes, or another content (%v)", len(got), err)
	used := allocated(to)
	assert.True(t, used <= megabyte, "the copy takes up %d bytes, want about %d", used, len(content))
}
