package volumes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

func TestMounts(t *testing.T) {
	m := Mounted{podDir: "/pod", volumes: map[string]mounted{"data": {path: "/pod/data"}, "conf": {path: "/pod/conf", readOnly: true}}}
	for _, tc := range []struct {
		name    string
		mount   v1.VolumeMount
		want    *runtimeapi.Mount
		wantErr string
	}{
		{"A-VOL-2 defaults", v1.VolumeMount{Name: "data", MountPath: "/d"}, &runtimeapi.Mount{HostPath: "/pod/data", ContainerPath: "/d"}, ""},
		{"A-VOL-2 read-only by the mount", v1.VolumeMount{Name: "data", MountPath: "d", ReadOnly: true}, &runtimeapi.Mount{HostPath: "/pod/data", ContainerPath: "/d", Readonly: true}, ""},
		{"A-VOL-2 read-only by the volume", v1.VolumeMount{Name: "conf", MountPath: "/d"}, &runtimeapi.Mount{HostPath: "/pod/conf", ContainerPath: "/d", Readonly: true}, ""},
		{
			"A-VOL-2 HostToContainer", v1.VolumeMount{Name: "data", MountPath: "/d", MountPropagation: ptr.To(v1.MountPropagationHostToContainer)},
			&runtimeapi.Mount{HostPath: "/pod/data", ContainerPath: "/d", Propagation: runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER}, "",
		},
		{
			"A-VOL-2 Bidirectional", v1.VolumeMount{Name: "data", MountPath: "/d", MountPropagation: ptr.To(v1.MountPropagationBidirectional)},
			&runtimeapi.Mount{HostPath: "/pod/data", ContainerPath: "/d", Propagation: runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL}, "",
		},
		{
			"A-VOL-2 recursive if possible", v1.VolumeMount{Name: "data", MountPath: "/d", ReadOnly: true, RecursiveReadOnly: ptr.To(v1.RecursiveReadOnlyIfPossible)},
			&runtimeapi.Mount{HostPath: "/pod/data", ContainerPath: "/d", Readonly: true}, "",
		},
		{
			"A-VOL-2 recursive without support", v1.VolumeMount{Name: "data", MountPath: "/d", ReadOnly: true, RecursiveReadOnly: ptr.To(v1.RecursiveReadOnlyEnabled)}, nil,
			`failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime`,
		},
		{"A-VOL-2 unknown volume", v1.VolumeMount{Name: "x", MountPath: "/d"}, nil, `cannot find volume "x" to mount into container "main"`},
		{"A-VOL-3 absolute sub path", v1.VolumeMount{Name: "data", SubPathExpr: "$(ABS)"}, nil, "error SubPath `/etc` must not be an absolute path"},
		{"A-VOL-3 sub path with ..", v1.VolumeMount{Name: "data", SubPathExpr: "a/$(UP)"}, nil, "unable to provision SubPath `a/..`: must not contain '..'"},
		{"A-VOL-3 variable missing", v1.VolumeMount{Name: "data", SubPathExpr: "$(NONE)"}, nil, "missing value for NONE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := []criconfig.KeyValue{{Name: "ABS", Value: "/etc"}, {Name: "UP", Value: ".."}}
			got, err := m.Mounts(&v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{tc.mount}}, MountInput{Env: env})
			if tc.wantErr != "" {
				assert.Error(t, tc.wantErr, err)
				return
			}
			diff := cmp.Diff([]*runtimeapi.Mount{tc.want}, got, protocmp.Transform())
			assert.True(t, err == nil && diff == "", "%v (-want +got):\n%s", err, diff)
		})
	}
}

// mountSubPath mounts one sub path of an emptyDir and returns the source.
func mountSubPath(m Mounted, subPath string) (string, error) {
	c := &v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "cache", MountPath: "/c", SubPath: subPath}}}
	mounts, err := m.Mounts(c, MountInput{})
	if err != nil {
		return "", err
	}
	return mounts[0].HostPath, nil
}

func TestSubPathMounts(t *testing.T) {
	dir := testPodDir(t)
	pod := podWith(emptyDirVolume("cache"))
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}
	m := prepare(t, pod, dir, objects{})
	volume, _ := m.Path("cache")

	source := assert.Get(mountSubPath(m, "made/deep")).Must(t)
	assert.Equal(t, filepath.Join(dir, "volume-subpaths/cache/main/0"), source, "source")
	assert.Deep(t, "A-VOL-3 made with the volume's mode", []string{". dgrwxrwxrwx 2000", "made dgrwxrwxrwx 2000", "made/deep dgrwxrwxrwx 2000"}, tree(t, volume))
	assert.Must(t, os.WriteFile(filepath.Join(source, "f"), []byte("through"), 0o600))
	got, err := os.ReadFile(filepath.Join(volume, "made/deep/f"))
	assert.True(t, err == nil && string(got) == "through", "seen in the volume: %q, %v", got, err)

	// Another instance: the same path again, then a file in its place.
	assert.NoError(t, assert.ErrorOf(mountSubPath(m, "made/deep")), "mounted again")
	source = assert.Get(mountSubPath(m, "made/deep/f")).Must(t)
	got, err = os.ReadFile(source)
	assert.True(t, err == nil && string(got) == "through", "a file as sub path: %q, %v", got, err)
	assert.NoError(t, Remove(dir))
}

// TestSubPathMadeByTwo: of two pods that need a folder of their volume, one makes it, and neither
// fails (A-VOL-3).
func TestSubPathMadeByTwo(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		var both errgroup.Group
		for range 2 {
			both.Go(subPathMount{volumePath: dir, subPath: fmt.Sprintf("%d/a/b/c", i)}.ensureExists)
		}
		assert.Must(t, both.Wait())
	}
}

func TestSubPathNeverLeavesTheVolume(t *testing.T) {
	dir := testPodDir(t)
	m := prepare(t, podWith(emptyDirVolume("cache")), dir, objects{})
	volume, _ := m.Path("cache")
	outside := t.TempDir()
	for link, target := range map[string]string{"abs": outside, "rel": "../../../..", "self": "/proc/self/root"} {
		assert.Must(t, os.Symlink(target, filepath.Join(volume, link)))
	}
	for _, path := range []string{"abs", "rel", "self", "abs/new", "rel/new"} {
		_, err := mountSubPath(m, path)
		_, ok := errors.AsType[*SubPathError](err)
		assert.True(t, ok, "%s: error = %v, want one that hides the host's paths (A-VOL-3)", path, err)
	}
	entries, err := os.ReadDir(outside)
	assert.True(t, err == nil && len(entries) == 0, "outside the volume: %v, %v", entries, err)
	assert.Must(t, os.Symlink(".", filepath.Join(volume, "inside")))
	assert.NoError(t, assert.ErrorOf(mountSubPath(m, "inside")), "a link that stays inside")
}

// TestRelabel: with SELinux the runtime labels the files of volumes that are the pod's (A-VOL-2).
func TestRelabel(t *testing.T) {
	dir, disk := testPodDir(t), t.TempDir()
	local := localVolume("pv", disk)
	pod := podWith(emptyDirVolume("disk"), configMapVolume("conf", v1.ConfigMapVolumeSource{}), secretVolume("token", v1.SecretVolumeSource{}),
		downwardVolume(nil, fieldFile("name", "metadata.name")),
		v1.Volume{Name: "all", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}},
		v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: disk}}},
		claimVolume("local", false), claimVolume("read", true), claimVolume("csi", false),
		v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}})
	sources := Sources{
		Objects: objects{configMaps: map[string]*v1.ConfigMap{"conf": {}}, secrets: map[string]*v1.Secret{"token": {}}},
		API:     api{volumes: map[string]*v1.PersistentVolume{"local": local, "read": localVolume("pv-2", disk), "csi": ofCSI("pv-3")}},
		CSI:     &drivers{podDir: dir},
	}
	m := assert.Get(Prepare(t.Context(), pod, dir, sources)).Must(t)
	want := map[string]bool{
		"disk": true, "conf": true, "token": true, "info": true, "all": true, "host": false, "local": true, "read": false, "csi": true, "own": true,
	}
	for _, enabled := range []bool{true, false} {
		mounts := assert.Get(m.Mounts(&pod.Spec.Containers[0], MountInput{SELinux: enabled})).Must(t)
		got := map[string]bool{}
		for i, mount := range pod.Spec.Containers[0].VolumeMounts {
			got[mount.Name] = mounts[i].SelinuxRelabel
			want[mount.Name] = want[mount.Name] && enabled
		}
		assert.Deep(t, fmt.Sprintf("with SELinux %v the runtime labels", enabled), want, got)
	}
}
