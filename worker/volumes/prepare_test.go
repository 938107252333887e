package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

// objects is the namespace of the tests.
type objects struct {
	configMaps map[string]*v1.ConfigMap
	secrets    map[string]*v1.Secret
	err        error
}

func (o objects) ConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	if object, found := o.configMaps[name]; found && o.err == nil && namespace == "ns" {
		return object, nil
	}
	return nil, errors.Join(o.err, apierrors.NewNotFound(v1.Resource("configmaps"), name))
}

func (o objects) Secret(namespace, name string) (*v1.Secret, error) {
	if object, found := o.secrets[name]; found && o.err == nil && namespace == "ns" {
		return object, nil
	}
	return nil, errors.Join(o.err, apierrors.NewNotFound(v1.Resource("secrets"), name))
}

// podWith mounts every volume at /<name>.
func podWith(volumes ...v1.Volume) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "uid-1"}}
	pod.Spec.Volumes = volumes
	c := v1.Container{Name: "main"}
	for _, volume := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: volume.Name, MountPath: "/" + volume.Name})
	}
	pod.Spec.Containers = []v1.Container{c}
	return pod
}

func emptyDirVolume(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}
}

func configMapVolume(name string, source v1.ConfigMapVolumeSource) v1.Volume {
	source.Name = name
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{ConfigMap: &source}}
}

func secretVolume(name string, source v1.SecretVolumeSource) v1.Volume {
	source.SecretName = name
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{Secret: &source}}
}

func hostPathVolume(path string, kind v1.HostPathType) v1.Volume {
	return v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &kind}}}
}

// testPodDir is a pod folder that is removed, with its mounts, after the test.
func testPodDir(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "pods", "uid-1")
	t.Cleanup(func() {
		assert.NoError(t, Remove(dir), "clean up")
	})
	return dir
}

func prepare(t *testing.T, pod *v1.Pod, dir string, o objects) Mounted {
	t.Helper()
	return assert.Get(Prepare(t.Context(), pod, dir, Sources{Objects: o})).Must(t)
}

// tree lists what is below a folder: mode, group and, for a link, its target;
// the time in names is left out.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	assert.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%s %v %d", name, info.Mode(), info.Sys().(*syscall.Stat_t).Gid)
		if target, err := os.Readlink(path); err == nil {
			line = name + " -> " + target
		}
		if current, err := os.Readlink(filepath.Join(dir, "..data")); err == nil {
			line = strings.ReplaceAll(line, current, "TIME")
		}
		out = append(out, line)
		return nil
	}))
	return out
}

func TestEmptyDir(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(emptyDirVolume("cache"))
	prepare(t, pod, dir, objects{})
	path := filepath.Join(dir, "volumes/kubernetes.io~empty-dir/cache")
	assert.Deep(t, "A-VOL-1", []string{". drwxrwxrwx 0"}, tree(t, path))
	assert.Must(t, os.WriteFile(filepath.Join(path, "data"), []byte("kept"), 0o600))
	prepare(t, pod, dir, objects{})
	content, err := os.ReadFile(filepath.Join(path, "data"))
	assert.True(t, err == nil && string(content) == "kept", "after a second Prepare the content is %q, %v", content, err)
	for _, parent := range []string{dir, filepath.Join(dir, "volumes"), filepath.Join(dir, "plugins"), filepath.Dir(path)} {
		info, err := os.Stat(parent)
		assert.True(t, err == nil && info.Mode().Perm() == 0o750, "A-SYNC-7 %s: %v, %v, want 0750", parent, info.Mode(), err)
	}
}

func TestEmptyDirInMemory(t *testing.T) {
	dir := testPodDir(t)
	volume := emptyDirVolume("cache")
	volume.EmptyDir.Medium = v1.StorageMediumMemory
	volume.EmptyDir.SizeLimit = new(resource.MustParse("1Mi"))
	pod := podWith(volume)
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}
	prepare(t, pod, dir, objects{})
	prepare(t, pod, dir, objects{})
	path := filepath.Join(dir, "volumes/kubernetes.io~empty-dir/cache")
	assert.Deep(t, "A-SEC-3 mode and group", []string{". dgtrwxrwxrwx 2000"}, tree(t, path))
	var stat unix.Statfs_t
	err := unix.Statfs(path, &stat)
	assert.True(t, err == nil && stat.Type == unix.TMPFS_MAGIC && stat.Blocks*uint64(stat.Bsize) == 1<<20, "statfs = %+v, %v, want a tmpfs of 1 MiB", stat, err)
}

// As the kernel mounts it, which is what Kubernetes leaves.
func TestEmptyDirInMemoryForEveryone(t *testing.T) {
	dir := testPodDir(t)
	volume := emptyDirVolume("cache")
	volume.EmptyDir.Medium = v1.StorageMediumMemory
	prepare(t, podWith(volume), dir, objects{})
	path := filepath.Join(dir, "volumes/kubernetes.io~empty-dir/cache")
	assert.Deep(t, "mode and group", []string{". dtrwxrwxrwx 0"}, tree(t, path))
}

func TestFSGroup(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(emptyDirVolume("cache"), configMapVolume("conf", v1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](0o600)}))
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}
	m := prepare(t, pod, dir, objects{configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1"}}}})
	cache, _ := m.Path("cache")
	assert.Deep(t, "emptyDir", []string{". dgrwxrwxrwx 2000"}, tree(t, cache))
	conf, _ := m.Path("conf")
	want := []string{". dgrwxrwxrwx 2000", "TIME dgrwxr-xr-x 2000", "TIME/a -rw-r----- 2000", "..data -> TIME", "a -> ..data/a"}
	assert.Deep(t, "configMap", want, tree(t, conf))
}

func TestConfigMapAndSecretFiles(t *testing.T) {
	o := objects{
		configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "text"}, BinaryData: map[string][]byte{"b": {0, 255}}}},
		secrets:    map[string]*v1.Secret{"cred": {Data: map[string][]byte{"user": []byte("u"), "password": []byte("p")}}},
	}
	for _, tc := range []struct {
		name     string
		volume   v1.Volume
		want     []string
		contents map[string]string
	}{
		{
			"A-VOL-5 configMap, all keys", configMapVolume("conf", v1.ConfigMapVolumeSource{DefaultMode: ptr.To[int32](0o644)}),
			[]string{". drwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/a -rw-r--r-- 0", "TIME/b -rw-r--r-- 0", "..data -> TIME", "a -> ..data/a", "b -> ..data/b"},
			map[string]string{"a": "text", "b": "\x00\xff"},
		},
		{
			"A-VOL-5 secret with items and modes", secretVolume("cred", v1.SecretVolumeSource{
				DefaultMode: ptr.To[int32](0o400),
				Items:       []v1.KeyToPath{{Key: "user", Path: "deep/er/name"}, {Key: "password", Path: "deep/word", Mode: ptr.To[int32](0o444)}, {Key: "user", Path: "u"}},
			}),
			[]string{
				". dtrwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/deep drwxr-xr-x 0", "TIME/deep/er drwxr-xr-x 0", "TIME/deep/er/name -r-------- 0",
				"TIME/deep/word -r--r--r-- 0", "TIME/u -r-------- 0", "..data -> TIME", "deep -> ..data/deep", "u -> ..data/u",
			},
			map[string]string{"deep/er/name": "u", "deep/word": "p", "u": "u"},
		},
		{
			"A-ENV-5 optional key that is missing", configMapVolume("conf", v1.ConfigMapVolumeSource{
				Optional: new(true), Items: []v1.KeyToPath{{Key: "none", Path: "n"}, {Key: "a", Path: "x"}},
			}),
			[]string{". drwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/x -rw-r--r-- 0", "..data -> TIME", "x -> ..data/x"}, nil,
		},
		{
			"A-ENV-5 optional secret that is missing", secretVolume("none", v1.SecretVolumeSource{Optional: new(true)}),
			[]string{". dtrwxrwxrwx 0", "TIME drwxr-xr-x 0", "..data -> TIME"}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := prepare(t, podWith(tc.volume), testPodDir(t), o)
			path, _ := m.Path(tc.volume.Name)
			assert.Deep(t, "files", tc.want, tree(t, path))
			for name, want := range tc.contents {
				got, err := os.ReadFile(filepath.Join(path, name))
				assert.True(t, err == nil && string(got) == want, "%s = %q, %v, want %q", name, got, err, want)
			}
			var stat unix.Statfs_t
			if err := unix.Statfs(path, &stat); err != nil || (stat.Type == unix.TMPFS_MAGIC) != (tc.volume.Secret != nil) {
				t.Errorf("file system type %x, %v; want a tmpfs for secrets only", stat.Type, err)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	host := t.TempDir()
	plain := filepath.Join(host, "plain")
	assert.Must(t, os.WriteFile(plain, nil, 0o600))
	o := objects{
		configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1", "..up": "1"}}},
		secrets:    map[string]*v1.Secret{"cred": {}},
	}
	prefix := func(volume string) string { return fmt.Sprintf("MountVolume.SetUp failed for volume %q : ", volume) }
	for _, tc := range []struct {
		name   string
		volume v1.Volume
		want   string
	}{
		{"configMap missing", configMapVolume("none", v1.ConfigMapVolumeSource{}), prefix("none") + `configmaps "none" not found`},
		{"secret missing", secretVolume("none", v1.SecretVolumeSource{}), prefix("none") + `secrets "none" not found`},
		{
			"configMap key missing", configMapVolume("conf", v1.ConfigMapVolumeSource{Items: []v1.KeyToPath{{Key: "k", Path: "p"}}}),
			prefix("conf") + "configmap references non-existent config key: k",
		},
		{
			"secret key missing", secretVolume("cred", v1.SecretVolumeSource{Items: []v1.KeyToPath{{Key: "k", Path: "p"}}}),
			prefix("cred") + "references non-existent secret key: k",
		},
		{
			"path that leaves the volume", configMapVolume("conf", v1.ConfigMapVolumeSource{Items: []v1.KeyToPath{{Key: "a", Path: "../x"}}}),
			prefix("conf") + "invalid path: must be relative, inside the volume and not start with '..': ../x",
		},
		{"hostPath Directory", hostPathVolume(plain, v1.HostPathDirectory), prefix("host") + "hostPath type check failed: " + plain + " is not a directory"},
		{"hostPath DirectoryOrCreate", hostPathVolume(plain, v1.HostPathDirectoryOrCreate), prefix("host") + "hostPath type check failed: " + plain + " is not a directory"},
		{"hostPath File", hostPathVolume(host, v1.HostPathFile), prefix("host") + "hostPath type check failed: " + host + " is not a file"},
		{"hostPath FileOrCreate", hostPathVolume(host, v1.HostPathFileOrCreate), prefix("host") + "hostPath type check failed: " + host + " is not a file"},
		{"hostPath File missing", hostPathVolume(host+"/none", v1.HostPathFile), prefix("host") + "hostPath type check failed: " + host + "/none is not a file"},
		{"hostPath Socket", hostPathVolume(plain, v1.HostPathSocket), prefix("host") + "hostPath type check failed: " + plain + " is not a socket file"},
		{"hostPath CharDevice", hostPathVolume(plain, v1.HostPathCharDev), prefix("host") + "hostPath type check failed: " + plain + " is not a character device"},
		{"hostPath BlockDevice", hostPathVolume("/dev/null", v1.HostPathBlockDev), prefix("host") + "hostPath type check failed: /dev/null is not a block device"},
		{"hostPath other", hostPathVolume(plain, "Pipe"), prefix("host") + "Pipe is an invalid volume type"},
		{
			"other kinds are named", v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}},
			prefix("v") + "volumes of type nfs are not supported; use " + supportedTypes,
		},
		{
			"hugepages", v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumHugePages}}},
			prefix("v") + `medium HugePages: hugePages storage requested, but there is no resource request for huge pages`,
		},
	} {
		t.Run("A-SYNC-8 "+tc.name, func(t *testing.T) {
			_, err := Prepare(t.Context(), podWith(tc.volume), testPodDir(t), Sources{Objects: o})
			assert.Error(t, tc.want, err)
			var failure *MountError
			assert.True(t, errors.As(err, &failure) && failure.Volume == tc.volume.Name, "error %v does not carry the volume", err)
		})
	}
}

func TestPrepareReportsEveryFailedVolume(t *testing.T) {
	pod := podWith(configMapVolume("a", v1.ConfigMapVolumeSource{}), emptyDirVolume("fine"), secretVolume("b", v1.SecretVolumeSource{}))
	m, err := Prepare(t.Context(), pod, testPodDir(t), Sources{Objects: objects{}})
	assert.True(t, err != nil && strings.Count(err.Error(), "MountVolume.SetUp failed") == 2, "error = %v, want both volumes", err)
	_, found := m.Path("fine")
	assert.True(t, found, "the volume that can be made is missing")
}

func TestOptionalForgivesOnlyNotFound(t *testing.T) {
	broken := errors.New("connection refused")
	pod := podWith(secretVolume("cred", v1.SecretVolumeSource{Optional: new(true)}))
	assert.ErrorIs(t, broken, assert.ErrorOf(Prepare(t.Context(), pod, testPodDir(t), Sources{Objects: unreachable{broken}})))
}

func TestUnusedVolumesAreLeftOut(t *testing.T) {
	pod := podWith(configMapVolume("none", v1.ConfigMapVolumeSource{}))
	pod.Spec.Containers[0].VolumeMounts = nil
	_, found := prepare(t, pod, testPodDir(t), objects{}).Path("none")
	assert.True(t, !found, "a volume that no container uses was made")
}

func TestHostPathTypesThatFit(t *testing.T) {
	host := t.TempDir()
	listener := assert.Get(net.Listen("unix", filepath.Join(host, "sock"))).Must(t)
	defer func() { _ = listener.Close() }()
	for _, tc := range []struct {
		kind v1.HostPathType
		path string
		want fs.FileMode
	}{
		{v1.HostPathDirectoryOrCreate, host + "/new/dir", fs.ModeDir | 0o755},
		{v1.HostPathDirectory, host + "/new/dir", fs.ModeDir | 0o755},
		{v1.HostPathFileOrCreate, host + "/file", 0o644},
		{v1.HostPathFile, host + "/file", 0o644},
		{v1.HostPathSocket, host + "/sock", fs.ModeSocket | 0o755},
		{v1.HostPathCharDev, "/dev/null", fs.ModeDevice | fs.ModeCharDevice | 0o666},
	} {
		t.Run("A-VOL-2 "+string(tc.kind), func(t *testing.T) {
			m := prepare(t, podWith(hostPathVolume(tc.path, tc.kind)), testPodDir(t), objects{})
			path, _ := m.Path("host")
			assert.True(t, path == tc.path, "path = %s, want %s", path, tc.path)
			info, err := os.Stat(tc.path)
			assert.True(t, err == nil && info.Mode() == tc.want, "%v, %v, want %v", info.Mode(), err, tc.want)
		})
	}
	none := host + "/absent"
	prepare(t, podWith(hostPathVolume(none, v1.HostPathUnset)), testPodDir(t), objects{})
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Lstat(none)), "without a type something was made")
}
