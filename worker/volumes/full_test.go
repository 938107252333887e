package volumes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestFullDisk: an update that doesn't fit is one error, leaves the files as they
// were and nothing of itself, however often it is tried; it works when there is room.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	dir := filepath.Join(disk, "uid-1")
	pod := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{}))
	object := &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	sources := Sources{Objects: objects{configMaps: map[string]*v1.ConfigMap{"conf": object}}}
	assert.Must(t, assert.ErrorOf(Prepare(t.Context(), pod, dir, sources)))
	path := filepath.Join(dir, "volumes/kubernetes.io~configmap/conf")
	before := tree(t, path)
	object.Data = map[string]string{"a": "2", "big": strings.Repeat("x", 300<<10)}
	for range 5 {
		err := Refresh(t.Context(), pod, dir, sources)
		assert.Require(t, errors.Is(err, unix.ENOSPC) && strings.HasPrefix(err.Error(), `MountVolume.SetUp failed for volume "conf" : `),
			"error = %v, want one about the volume that says that the disk is full", err)
		diff := cmp.Diff(before, tree(t, path))
		assert.Require(t, diff == "", "A-VOL-5 after a failure (-want +got):\n%s", diff)
	}
	object.Data = map[string]string{"a": "3"}
	assert.Must(t, Refresh(t.Context(), pod, dir, sources))
	got, err := os.ReadFile(filepath.Join(path, "a"))
	assert.True(t, err == nil && string(got) == "3", "with room again: %q, %v, want 3", got, err)
}
