package volumes

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// runtimeMounts mounts what a runtime mounts when it starts a container, and returns what each file has.
func runtimeMounts(t *testing.T, m Mounted, c *v1.Container, between func()) (contents []string) {
	t.Helper()
	mounts := assert.Get(m.Mounts(c, MountInput{})).Must(t)
	between()
	for i, mount := range mounts {
		at := filepath.Join(t.TempDir(), fmt.Sprint(i))
		assert.Must(t, createFile(at))
		if err := unix.Mount(mount.HostPath, at, "", unix.MS_BIND, ""); err != nil {
			t.Fatalf("the runtime mounts %s: %v (A-VOL-5)", mount.HostPath, err)
		}
		content := assert.Get(os.ReadFile(at)).Must(t)
		contents = append(contents, string(content))
		assert.Must(t, unmount(at))
	}
	return contents
}

// twoSubPaths is a container with two files of a volume.
func twoSubPaths(volume string) *v1.Container {
	return &v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{
		{Name: volume, MountPath: "/a", SubPath: "a.txt"}, {Name: volume, MountPath: "/b", SubPath: "b.txt"},
	}}
}

// A volume that changes between the creation of a container and its start: what the container's sub paths are bound to
// stays, be it on disk or in memory, and goes when the next container has others (A-VOL-5).
func TestVersionStaysUntilStarted(t *testing.T) {
	dir := testPodDir(t)
	for volume, change := range map[string]func(value string) (*v1.Pod, objects){
		"configmap": func(value string) (*v1.Pod, objects) {
			return podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{})), objects{configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a.txt": value, "b.txt": value}}}}
		},
		"secret": func(value string) (*v1.Pod, objects) {
			return podWith(secretVolume("conf", v1.SecretVolumeSource{})), objects{secrets: map[string]*v1.Secret{"conf": {Data: map[string][]byte{"a.txt": []byte(value), "b.txt": []byte(value)}}}}
		},
	} {
		podDir := filepath.Join(dir, volume)
		write := func(value string) Mounted {
			pod, o := change(value)
			return prepare(t, pod, podDir, o)
		}
		m := write("1")
		got := runtimeMounts(t, m, twoSubPaths("conf"), func() {
			write("2")
			write("3")
		})
		assert.True(t, fmt.Sprint(got) == "[1 1]", "%s: the container has %q, want the version of its creation", volume, got)
		got = runtimeMounts(t, m, twoSubPaths("conf"), func() { write("3") })
		assert.True(t, fmt.Sprint(got) == "[3 3]", "%s: the next container has %q, want the version of its creation", volume, got)
		path, _ := m.Path("conf")
		versions, err := filepath.Glob(filepath.Join(path, "..[0-9]*"))
		assert.True(t, err == nil && len(versions) == 1, "%s: versions %q, %v, want one", volume, versions, err)
		assert.NoError(t, Remove(podDir))
	}
}

// However often a volume changes meanwhile, all sub paths of a container are of one version (A-VOL-5).
func TestSubPathsAreOfOneVersion(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{}))
	write := func(value int) Mounted {
		data := map[string]string{"a.txt": fmt.Sprint(value), "b.txt": fmt.Sprint(value)}
		return prepare(t, pod, dir, objects{configMaps: map[string]*v1.ConfigMap{"conf": {Data: data}}})
	}
	m := write(0)
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		for value := 1; ; value++ {
			select {
			case <-stop:
				return
			default:
				write(value)
			}
		}
	})
	for range 200 {
		got := runtimeMounts(t, m, twoSubPaths("conf"), func() {})
		assert.True(t, got[0] == got[1], "one file is of version %s, the other of %s", got[0], got[1])
	}
	close(stop)
	writing.Wait()
}
