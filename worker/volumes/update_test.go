package volumes

import (
	"os"
	"path/filepath"
	"testing"

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
	tests := []struct {
		name   string
		mounts []v1.VolumeMount
		want   []string
	}{
		{"none", []v1.VolumeMount{mount("conf", "/etc/app"), mount("x", "/etc/application")}, nil},
		{"one", []v1.VolumeMount{mount("conf", "/etc/app"), mount("x", "/etc/app/data/")}, []string{"data"}},
		{"only the outermost", []v1.VolumeMount{mount("x", "/c/a/b/c"), mount("conf", "/c/"), mount("y", "/c/a"), mount("z", "/c/a-b")}, []string{"a", "a-b"}},
		{"not through a sub path", []v1.VolumeMount{{Name: "conf", MountPath: "/c", SubPath: "s"}, mount("x", "/c/a")}, nil},
	}
	for _, tc := range tests {
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
