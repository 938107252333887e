package volumes

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func owners(t *testing.T, path string) string {
	t.Helper()
	info := assert.Get(os.Stat(path)).Must(t)
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%v %d %d", info.Mode(), stat.Uid, stat.Gid)
}

func mountTmpfs(t *testing.T, dir string) {
	t.Helper()
	assert.Must(t, os.MkdirAll(dir, 0o755))
	assert.Must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func real(t *testing.T, path string) string {
	t.Helper()
	path = assert.Get(filepath.EvalSymlinks(path)).Must(t)
	return path
}

func localVolume(name, path string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
	}}
}

// TestLocalVolume: the folder is mounted where Kubernetes mounts it; the end of
// the pod leaves it, what is in it, and what is mounted in it.
func TestLocalVolume(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root") // as many have it, a link
	assert.Must(t, os.Symlink(t.TempDir(), root))
	disk, dir := filepath.Join(t.TempDir(), "disk"), filepath.Join(root, "pods", "uid-1")
	t.Cleanup(func() { _ = Remove(dir) })
	mountTmpfs(t, disk)
	assert.Must(t, unix.Mount("", disk, "", unix.MS_SHARED, ""))
	assert.Must(t, os.WriteFile(filepath.Join(disk, "precious"), []byte("x"), 0o600))
	bound := localVolume("pv-1", disk)
	bound.Spec.MountOptions = []string{"noexec,nodev"}
	sources := Sources{API: api{volumes: map[string]*v1.PersistentVolume{"data": bound}}}
	pod := podWith(claimVolume("data", false))
	var m Mounted
	for range 2 {
		var err error
		m, err = Prepare(t.Context(), pod, dir, sources)
		assert.Must(t, err)
	}
	path, _ := m.Path("data")
	assert.Equal(t, filepath.Join(dir, "volumes/kubernetes.io~local-volume/pv-1"), path, "A-VOL-1 path")
	got := mountPoints(t, real(t, path))
	assert.True(t, got == 1, "%d mounts after two times Prepare, want 1", got)
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil || stat.Flags&(unix.ST_NOEXEC|unix.ST_NODEV|unix.ST_RDONLY) != unix.ST_NOEXEC|unix.ST_NODEV {
		t.Errorf("mount flags %x, %v, want noexec and nodev", stat.Flags, err)
	}
	c := &v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/d", SubPath: "sub"}}}
	mounts, err := m.Mounts(c, MountInput{})
	want := filepath.Join(dir, "volume-subpaths/pv-1/main/0")
	assert.True(t, err == nil && mounts[0].HostPath == want, "A-VOL-1 sub path %v, %v, want %s", mounts, err, want)

	inner := filepath.Join(disk, "sub", "inner") // mounted on the host later, seen in the pod's mounts
	mountTmpfs(t, inner)
	assert.Must(t, os.WriteFile(filepath.Join(inner, "precious"), []byte("y"), 0o600))
	got = mountPoints(t, real(t, dir))
	assert.Require(t, got == 4, "%d mounts in the pod's folder, want volume, sub path and in both of them the inner one", got)
	assert.Must(t, Remove(dir))
	_, err = os.Stat(dir)
	assert.True(t, os.IsNotExist(err), "the pod's folder is left: %v", err)
	assert.Deep(t, "B-RST-20", map[string]string{"precious": "x", "sub/inner/precious": "y"}, contents(t, disk, "precious", "sub/inner/precious"))
	assert.Equal(t, 2, mountPoints(t, disk), "mounts at the disk")
}

// TestLocalVolumeFSGroup: the first pod that mounts a volume gives it to its group.
func TestLocalVolumeFSGroup(t *testing.T) {
	disk := t.TempDir()
	file := filepath.Join(disk, "file")
	assert.Must(t, errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(disk, 0o700)))
	sources := Sources{API: api{volumes: map[string]*v1.PersistentVolume{"data": localVolume("pv-1", disk)}}}
	podsDir := filepath.Join(t.TempDir(), "pods")
	podOf := func(uid string, group int64, policy *v1.PodFSGroupChangePolicy) (string, error) {
		pod := podWith(claimVolume("data", false))
		pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group, FSGroupChangePolicy: policy}
		dir := filepath.Join(podsDir, uid)
		_, err := Prepare(t.Context(), pod, dir, sources)
		t.Cleanup(func() { _ = Remove(dir) })
		return dir, err
	}
	first := assert.Get(podOf("1", 2000, nil)).Must(t)
	assert.Equal(t, "-rw-rw---- 0 2000", owners(t, file), "file")
	assert.Equal(t, "dgrwxrwx--- 0 2000", owners(t, disk), "top")
	second := assert.Get(podOf("2", 3000, nil)).Must(t)
	got := owners(t, file)
	assert.True(t, got == "-rw-rw---- 0 2000", "file %s after a second pod that shares the volume", got)
	assert.Must(t, errors.Join(Remove(first), Remove(second), os.Chown(file, 0, 0)))
	assert.Must(t, assert.ErrorOf(podOf("3", 2000, ptr.To(v1.FSGroupChangeOnRootMismatch))))
	assert.Equal(t, "-rw-rw---- 0 0", owners(t, file), "file")
}

func TestReadOnlyClaims(t *testing.T) {
	disk, dir := t.TempDir(), testPodDir(t)
	host := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-2"}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: disk}},
	}}
	sources := Sources{API: api{volumes: map[string]*v1.PersistentVolume{"local": localVolume("pv-1", disk), "host": host}}}
	m := assert.Get(Prepare(t.Context(), podWith(claimVolume("local", true), claimVolume("host", true)), dir, sources)).Must(t)
	mounts, err := m.Mounts(&v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "local", MountPath: "/l"}, {Name: "host", MountPath: "/h"}}}, MountInput{})
	want := []*runtimeapi.Mount{
		{ContainerPath: "/l", HostPath: filepath.Join(dir, "volumes/kubernetes.io~local-volume/pv-1"), Readonly: true},
		{ContainerPath: "/h", HostPath: disk, Readonly: true},
	}
	assert.True(t, err == nil && mounts[0].String() == want[0].String() && mounts[1].String() == want[1].String(),
		"A-VOL-2 mounts %v, %v, want %v", mounts, err, want)
	path, _ := m.Path("local")
	assert.ErrorIs(t, unix.EROFS, os.WriteFile(filepath.Join(path, "x"), nil, 0o600), "a write to the mount")
}

// TestEphemeralVolume: its claim is named by pod and volume.
func TestEphemeralVolume(t *testing.T) {
	sources := Sources{API: api{volumes: map[string]*v1.PersistentVolume{"web-scratch": localVolume("pv-1", t.TempDir())}}}
	pod := podWith(v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}})
	m := assert.Get(Prepare(t.Context(), pod, testPodDir(t), sources)).Must(t)
	path, found := m.Path("scratch")
	assert.True(t, found && filepath.Base(path) == "pv-1", "path %s, %v", path, found)
}

func TestRefusedClaims(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	withSpec := func(change func(*v1.PersistentVolume)) api {
		bound := localVolume("pv-1", t.TempDir())
		change(bound)
		return api{volumes: map[string]*v1.PersistentVolume{"data": bound}}
	}
	for _, tc := range []struct {
		name string
		api  api
		want string
	}{
		{"not bound", api{}, "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC ns/data: PVC is not bound"},
		{"device mounted", withSpec(func(v *v1.PersistentVolume) { v.Spec.VolumeMode = ptr.To(v1.PersistentVolumeBlock) }), "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: volume data has volumeMode Block, but is specified in volumeMounts"},
		{"elsewhere", api{volumes: map[string]*v1.PersistentVolume{"data": localVolume("pv-1", "/")}, elsewhere: errors.New("no matching NodeSelectorTerms")}, `MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms`},
		{"NFS", withSpec(func(v *v1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{}}
		}), `MountVolume.SetUp failed for volume "pv-1" : persistent volumes of type nfs with volumeMode Filesystem are not supported; use csi, local, or hostPath with volumeMode Filesystem`},
		{"mount option", withSpec(func(v *v1.PersistentVolume) { v.Spec.MountOptions = []string{"discard"} }), `MountVolume.SetUp failed for volume "pv-1" : mount option "discard" is not supported for local volumes, which are bind mounts`},
		{"mount option of a host path", withSpec(func(v *v1.PersistentVolume) {
			v.Spec.MountOptions, v.Spec.PersistentVolumeSource = []string{"ro"}, v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}}
		}), `MountVolume.MountOptionSupport check failed for volume "pv-1" : Mount options are not supported for this volume type`},
		{"a file", withSpec(func(v *v1.PersistentVolume) { v.Spec.Local.Path = file }), `MountVolume.SetUp failed for volume "pv-1" : only directory and block device are supported`},
		{"missing", withSpec(func(v *v1.PersistentVolume) { v.Spec.Local.Path = "/none" }), `MountVolume.SetUp failed for volume "pv-1" : stat /none: no such file or directory`},
		{"backsteps", withSpec(func(v *v1.PersistentVolume) { v.Spec.Local.Path = "/tmp/.." }), `MountVolume.SetUp failed for volume "pv-1" : invalid path: /tmp/.. must not contain '..'`},
	} {
		t.Run("A-SYNC-8 "+tc.name, func(t *testing.T) {
			assert.Error(t, tc.want, assert.ErrorOf(Prepare(t.Context(), podWith(claimVolume("data", false)), testPodDir(t), Sources{API: tc.api})))
		})
	}
}

// TestClaimIsRemembered: what was bound stays so while the API server is away, and
// only then.
func TestClaimIsRemembered(t *testing.T) {
	dir, pod := testPodDir(t), podWith(claimVolume("data", false))
	away := &url.Error{Op: "Get", URL: "https://api", Err: unix.ECONNREFUSED}
	with := func(a api) error {
		m, err := Prepare(t.Context(), pod, dir, Sources{API: a})
		path, _ := m.Path("data")
		assert.True(t, err != nil || filepath.Base(path) == "pv-1", "path %s", path)
		return err
	}
	assert.ErrorIs(t, unix.ECONNREFUSED, with(api{err: away}), "never known")
	known := api{volumes: map[string]*v1.PersistentVolume{"data": localVolume("pv-1", t.TempDir())}}
	assert.NoError(t, errors.Join(with(known), with(api{err: away})))
	assert.Fails(t, with(api{}), "a claim that is not bound any more is used")
}

// TestReadWriteOncePod: the second pod is refused.
func TestReadWriteOncePod(t *testing.T) {
	bound := localVolume("pv-1", t.TempDir())
	bound.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	sources := Sources{API: api{volumes: map[string]*v1.PersistentVolume{"data": bound}}}
	dir := testPodDir(t)
	other := filepath.Join(filepath.Dir(dir), "uid-2")
	t.Cleanup(func() { _ = Remove(other) })
	pod := podWith(claimVolume("data", false))
	assert.Must(t, assert.ErrorOf(Prepare(t.Context(), pod, dir, sources)))
	_, err := Prepare(t.Context(), pod, other, sources)
	want := `MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`
	assert.Error(t, want, err)
}

func TestBlockDevice(t *testing.T) {
	dir := t.TempDir()
	device, link := filepath.Join(dir, "device"), filepath.Join(dir, "link")
	assert.Must(t, errors.Join(unix.Mknod(device, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 250))), os.Symlink(device, link)))
	bound := localVolume("pv-1", link)
	bound.Spec.VolumeMode = ptr.To(v1.PersistentVolumeBlock)
	for readOnly, permissions := range map[bool]string{false: "mrw", true: "r"} {
		pod := podWith(claimVolume("data", readOnly))
		c := &pod.Spec.Containers[0]
		c.VolumeMounts, c.VolumeDevices = nil, []v1.VolumeDevice{{Name: "data", DevicePath: "/dev/xvda"}}
		m := assert.Get(Prepare(t.Context(), pod, testPodDir(t), Sources{API: api{volumes: map[string]*v1.PersistentVolume{"data": bound}}})).Must(t)
		devices, err := m.Devices(c)
		want := &runtimeapi.Device{HostPath: device, ContainerPath: "/dev/xvda", Permissions: permissions}
		assert.True(t, err == nil && len(devices) == 1 && devices[0].String() == want.String(), "A-VOL-4 devices %v, %v, want %v", devices, err, want)
		_, found := m.Path("data")
		assert.True(t, !found, "a device has a path")
	}
}
