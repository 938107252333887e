package volumes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A lifepod that goes on after a kill -9 prepares the volumes again, below running
// containers: every file stays the same file, and no mount gets a second one on
// top of it (B-RST-1).
func TestPrepareAgain(t *testing.T) {
	memory := emptyDirVolume("memory")
	memory.EmptyDir.Medium = v1.StorageMediumMemory
	projected := v1.Volume{Name: "all", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
		{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "token"}}},
	}}}}
	pod := podWith(emptyDirVolume("disk"), memory, projected,
		configMapVolume("conf", v1.ConfigMapVolumeSource{}), secretVolume("token", v1.SecretVolumeSource{}),
		downwardVolume(nil, fieldFile("name", "metadata.name")))
	o := objects{
		configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1"}}},
		secrets:    map[string]*v1.Secret{"token": {Data: map[string][]byte{"t": []byte("x")}}},
	}
	dir := testPodDir(t)
	first := prepare(t, pod, dir, o)
	for _, name := range []string{"disk", "memory"} {
		path, _ := first.Path(name)
		assert.Must(t, os.WriteFile(filepath.Join(path, "data"), []byte("kept"), 0o600))
	}
	want := inodes(t, dir)
	second := prepare(t, pod, dir, o)
	assert.Deep(t, "files and mounts", want, inodes(t, dir))
	assert.Deep(t, "what is known of them", first, second, cmp.AllowUnexported(Mounted{}, mounted{}))
}

// inodes are the files below a folder, and how often something is mounted there.
func inodes(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	found := map[string]uint64{}
	assert.Must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		var stat unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &stat)
		}
		found[path] = stat.Ino
		return err
	}))
	mounts := assert.Get(mountinfo.GetMounts(mountinfo.PrefixFilter(dir))).Must(t)
	for _, m := range mounts {
		found["mounted at "+m.Mountpoint]++
	}
	return found
}
