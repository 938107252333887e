package volumes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

func mountPoints(t *testing.T, dir string) int {
	t.Helper()
	mounts := assert.Get(mountinfo.GetMounts(mountinfo.PrefixFilter(dir))).Must(t)
	return len(mounts)
}

func TestRemove(t *testing.T) {
	dir := testPodDir(t)
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	assert.Must(t, os.WriteFile(precious, []byte("x"), 0o600))
	sibling := dir + "0"
	assert.Must(t, os.MkdirAll(sibling, 0o750))
	assert.Must(t, unix.Mount("tmpfs", sibling, "tmpfs", 0, ""))
	defer func() { _ = unix.Unmount(sibling, unix.MNT_DETACH) }()

	secrets := map[string]*v1.Secret{"cred": {Data: map[string][]byte{"a": []byte("1")}}}
	m := prepare(t, podWith(emptyDirVolume("cache"), secretVolume("cred", v1.SecretVolumeSource{}), hostPathVolume(outside, v1.HostPathDirectory)), dir, objects{secrets: secrets})
	cache, _ := m.Path("cache")
	assert.Must(t, assert.ErrorOf(mountSubPath(m, "sub")))
	// What a container with Bidirectional propagation and one with links leave.
	bound := filepath.Join(cache, "bound")
	assert.Must(t, os.Mkdir(bound, 0o700))
	for range 2 {
		assert.Must(t, unix.Mount(outside, bound, "", unix.MS_BIND, ""))
	}
	assert.Must(t, os.Symlink(outside, filepath.Join(cache, "link")))
	got := mountPoints(t, dir)
	assert.Require(t, got == 4, "%d mounts before Remove, want the secret, the sub path and two binds", got)

	assert.Must(t, Remove(dir))
	_, err := os.Lstat(dir)
	assert.True(t, os.IsNotExist(err), "the folder is still there: %v", err)
	assert.Equal(t, 0, mountPoints(t, dir), "mounts left")
	assert.True(t, mountPoints(t, sibling) == 1, "the mount of another pod whose name begins alike is gone")
	content, err := os.ReadFile(precious)
	assert.True(t, err == nil && string(content) == "x", "the host's file: %q, %v", content, err)
	assert.NoError(t, Remove(dir), "removing what is absent")
	assert.NoError(t, Remove(filepath.Join(dir, "none", "uid")), "removing below what is absent")
}

// TestClear: volumes go, with their mounts; what is to be read later stays (B-FIN-11).
func TestClear(t *testing.T) {
	dir := testPodDir(t)
	secrets := map[string]*v1.Secret{"cred": {Data: map[string][]byte{"a": []byte("1")}}}
	prepare(t, podWith(emptyDirVolume("cache"), secretVolume("cred", v1.SecretVolumeSource{})), dir, objects{secrets: secrets})
	message := filepath.Join(dir, "containers", "main", "message")
	assert.Must(t, os.MkdirAll(filepath.Dir(message), 0o750))
	assert.Must(t, os.WriteFile(message, []byte("bye"), 0o600))
	for range 2 {
		assert.Must(t, Clear(dir, "containers"))
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || mountPoints(t, dir) != 0 {
			t.Errorf("left: %v, %d mounts (%v); want the containers' folder alone", entries, mountPoints(t, dir), err)
		}
	}
	text, err := os.ReadFile(message)
	assert.True(t, err == nil && string(text) == "bye", "the message: %q, %v", text, err)
	assert.NoError(t, Clear(filepath.Join(dir, "none"), "containers"), "clearing what is absent")
}

// TestRemoveTreeStopsAtMounts mounts behind the back of Remove, as if after it
// looked for mounts (B-RST-20).
func TestRemoveTreeStopsAtMounts(t *testing.T) {
	base := t.TempDir()
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	assert.Must(t, os.WriteFile(precious, nil, 0o600))
	target := filepath.Join(base, "pod", "deep")
	assert.Must(t, os.MkdirAll(target, 0o700))
	assert.Must(t, unix.Mount(outside, target, "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(target, unix.MNT_DETACH) }()
	fd := assert.Get(unix.Open(base, unix.O_PATH|unix.O_DIRECTORY, 0)).Must(t)
	defer func() { _ = unix.Close(fd) }()
	assert.Fails(t, removeTree(fd, "pod"), "no error although something is mounted below")
	assert.NoError(t, assert.ErrorOf(os.Stat(precious)), "deleted through the mount")
}

func TestRemoveDoesNotFollowALinkInPlaceOfThePod(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	assert.Must(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
	link := filepath.Join(base, "uid")
	assert.Must(t, os.Symlink(outside, link))
	assert.Must(t, Remove(link))
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(outside, "precious"))), "deleted through the link")
}

// B-FIN-6: folders with more entries than are read at a time are deleted whole.
func TestRemoveMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pod")
	for _, folder := range []string{"a", "b"} {
		for n := range 2500 {
			path := filepath.Join(dir, folder, fmt.Sprint(n))
			assert.Must(t, os.MkdirAll(path, 0o700))
		}
	}
	assert.NoError(t, Remove(dir))
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Lstat(dir)), "the folder is left")
}

// Delete refuses a folder in which something is mounted before it deletes anything,
// and follows no link.
func TestDeleteStaysInTheFolder(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "volume"), t.TempDir()
	inside, precious := filepath.Join(dir, "a"), filepath.Join(other, "precious")
	for _, d := range []string{inside, filepath.Join(dir, "mnt")} {
		assert.Must(t, os.MkdirAll(d, 0o700))
	}
	assert.Must(t, os.WriteFile(precious, nil, 0o600))
	assert.Must(t, os.Symlink(other, filepath.Join(dir, "link")))
	assert.Must(t, unix.Mount(other, filepath.Join(dir, "mnt"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "mnt"), unix.MNT_DETACH) })
	assert.ErrorContains(t, "something is mounted at "+filepath.Join(dir, "mnt"), Delete(dir))
	assert.NoError(t, assert.ErrorOf(os.Stat(inside)), "it has deleted what it could")
	assert.Must(t, unix.Unmount(filepath.Join(dir, "mnt"), 0))
	for range 2 { // a folder that is gone is no error
		assert.Must(t, Delete(dir))
	}
	_, err := os.Stat(dir)
	assert.True(t, os.IsNotExist(err), "folder: %v, want none", err)
	assert.NoError(t, assert.ErrorOf(os.Stat(precious)), "what a link and a mount led to")
}

// What a claim is bound to is known after a power cut, too, and is written once: a
// container's restart costs no write.
func TestRememberedVolumeSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	path := filepath.Join(disk.Dir, "claims", "data.json")
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	disk.Settle()
	assert.Must(t, remember(path, volume))
	disk.Cut()
	written, err := os.Stat(path)
	assert.Require(t, err == nil && written.Size() != 0, "after a power cut: %v, %v", written, err)
	assert.Must(t, remember(path, volume))
	again, err := os.Stat(path)
	assert.True(t, err == nil && os.SameFile(written, again), "the same volume was written again: %v, %v", again, err)
}
