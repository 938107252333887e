package volumes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestUpdateSwapsTheVersion(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](0o644)}))
	object := &v1.ConfigMap{Data: map[string]string{"a": "1", "gone": "x"}}
	o := objects{configMaps: map[string]*v1.ConfigMap{"conf": object}}
	m := prepare(t, pod, dir, o)
	path, _ := m.Path("conf")
	first := assert.Get(os.Readlink(filepath.Join(path, "..data"))).Must(t)
	// An open handle of the volume, as a container's mount is one.
	root := assert.Get(os.OpenRoot(path)).Must(t)
	defer func() { _ = root.Close() }()

	prepare(t, pod, dir, o)
	same, err := os.Readlink(filepath.Join(path, "..data"))
	assert.True(t, err == nil && same == first, "nothing changed but the version is %s, %v, was %s", same, err, first)

	object.Data = map[string]string{"a": "2", "new": "y"}
	prepare(t, pod, dir, o)
	want := []string{". drwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/a -rw-r--r-- 0", "TIME/new -rw-r--r-- 0", "..data -> TIME", "a -> ..data/a", "new -> ..data/new"}
	assert.Deep(t, "A-VOL-5 after an update", want, tree(t, path))
	got, err := root.ReadFile("a")
	assert.True(t, err == nil && string(got) == "2", "seen from a mount made before: %q, %v, want 2", got, err)
}

func TestPrepareRepairsAnInterruptedWrite(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](0o644)}))
	object := &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	o := objects{configMaps: map[string]*v1.ConfigMap{"conf": object}}
	path := filepath.Join(dir, "volumes/kubernetes.io~configmap/conf")
	for _, d := range []string{"..2020_01_01_00_00_00.1", "..2020_01_01_00_00_00.2"} {
		assert.Must(t, os.MkdirAll(filepath.Join(path, d), 0o700))
	}
	assert.Must(t, os.Chmod(path, 0o777))
	for link, target := range map[string]string{"..data": "..2020_01_01_00_00_00.1", "..data_tmp": "..2020_01_01_00_00_00.2", "old": "..data/old"} {
		assert.Must(t, os.Symlink(target, filepath.Join(path, link)))
	}
	prepare(t, pod, dir, o)
	want := []string{". drwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/a -rw-r--r-- 0", "..data -> TIME", "a -> ..data/a"}
	assert.Deep(t, "after a crash", want, tree(t, path))
}

func TestNestedMountPoints(t *testing.T) {
	mount := func(name, path string) v1.VolumeMount { return v1.VolumeMount{Name: name, MountPath: path} }
	for _, tc := range []struct {
		name   string
		mounts []v1.VolumeMount
		want   []string
	}{
		{"none", []v1.VolumeMount{mount("conf", "/etc/app"), mount("x", "/etc/application")}, nil},
		{"one", []v1.VolumeMount{mount("conf", "/etc/app"), mount("x", "/etc/app/data/")}, []string{"data"}},
		{"only the outermost", []v1.VolumeMount{mount("x", "/c/a/b/c"), mount("conf", "/c/"), mount("y", "/c/a"), mount("z", "/c/a-b")}, []string{"a", "a-b"}},
		{"not through a sub path", []v1.VolumeMount{{Name: "conf", MountPath: "/c", SubPath: "s"}, mount("x", "/c/a")}, nil},
	} {
		t.Run("A-VOL-2 "+tc.name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{VolumeMounts: tc.mounts}}}}
			assert.Deep(t, "", tc.want, nestedMountPoints(pod, "conf"))
		})
	}
}

func TestNestedMountPointsSurviveUpdates(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{}), emptyDirVolume("inner"))
	pod.Spec.Containers[0].VolumeMounts[1].MountPath = "/conf/in/side"
	object := &v1.ConfigMap{Data: map[string]string{"a": "1"}}
	o := objects{configMaps: map[string]*v1.ConfigMap{"conf": object}}
	for _, value := range []string{"1", "2"} {
		object.Data["a"] = value
		m := prepare(t, pod, dir, o)
		path, _ := m.Path("conf")
		info, err := os.Stat(filepath.Join(path, "in/side"))
		assert.True(t, err == nil && info.IsDir(), "version %s: no folder for the inner mount: %v", value, err)
	}
}

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
