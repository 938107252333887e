package volumes

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func fieldFile(path, field string) v1.DownwardAPIVolumeFile {
	return v1.DownwardAPIVolumeFile{Path: path, FieldRef: &v1.ObjectFieldSelector{FieldPath: field}}
}

func resourceFile(path, container, name, divisor string) v1.DownwardAPIVolumeFile {
	return v1.DownwardAPIVolumeFile{Path: path, ResourceFieldRef: &v1.ResourceFieldSelector{
		ContainerName: container, Resource: name, Divisor: resource.MustParse(divisor),
	}}
}

func downwardVolume(mode *int32, items ...v1.DownwardAPIVolumeFile) v1.Volume {
	return v1.Volume{Name: "info", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: items, DefaultMode: mode}}}
}

func projectedVolume(mode *int32, sources ...v1.VolumeProjection) v1.Volume {
	return v1.Volume{Name: "all", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: sources, DefaultMode: mode}}}
}

// contents reads the files of a volume.
func contents(t *testing.T, dir string, names ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		content := assert.Get(os.ReadFile(filepath.Join(dir, name))).Must(t)
		out[name] = string(content)
	}
	return out
}

func TestDownwardAPI(t *testing.T) {
	secretive := fieldFile("deep/name", "metadata.name")
	secretive.Mode = ptr.To[int32](0o400)
	pod := podWith(downwardVolume(ptr.To[int32](0o640), secretive,
		fieldFile("uid", "metadata.uid"), fieldFile("ns", "metadata.namespace"), fieldFile("app", "metadata.labels['app']"),
		fieldFile("labels", "metadata.labels"), fieldFile("notes", "metadata.annotations"),
		resourceFile("mem", "main", "limits.memory", "1Mi"), resourceFile("cpu", "main", "limits.cpu", "0")))
	pod.Labels = map[string]string{"b": "2", "app": "shop"}
	pod.Annotations = map[string]string{"note": "two\nlines, \"quoted\""}
	pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{"memory": resource.MustParse("100Mi")}
	dir := testPodDir(t)
	sources := Sources{Objects: objects{}, Allocatable: v1.ResourceList{"cpu": resource.MustParse("8")}}
	m := assert.Get(Prepare(t.Context(), pod, dir, sources)).Must(t)
	path, _ := m.Path("info")
	want := map[string]string{
		"deep/name": "web", "uid": "uid-1", "ns": "ns", "app": "shop", "mem": "100", "cpu": "8",
		"labels": "app=\"shop\"\nb=\"2\"", "notes": `note="two\nlines, \"quoted\""`,
	}
	assert.Deep(t, "A-ENV-8 A-VOL-5 contents", want, contents(t, path, "deep/name", "uid", "ns", "app", "mem", "cpu", "labels", "notes"))
	for name, mode := range map[string]os.FileMode{"deep/name": 0o400, "uid": 0o640} {
		info, err := os.Stat(filepath.Join(path, name))
		assert.True(t, err == nil && info.Mode() == mode, "%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
	}
	assert.Equal(t, filepath.Join(dir, "volumes/kubernetes.io~downward-api/info"), path, "A-VOL-1 path")

	pod.Labels["app"] = "store"
	assert.Must(t, assert.ErrorOf(Prepare(t.Context(), pod, dir, sources)))
	assert.Equal(t, "store", contents(t, path, "app")["app"], "after a change of the label")
}

func TestProjected(t *testing.T) {
	o := objects{
		configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1", "b": "2"}}},
		secrets:    map[string]*v1.Secret{"cred": {Data: map[string][]byte{"key": []byte("s")}}},
	}
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	pod := podWith(projectedVolume(ptr.To[int32](0o440),
		v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("conf"), Items: []v1.KeyToPath{{Key: "a", Path: "conf/a", Mode: ptr.To[int32](0o444)}}}},
		v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: named("cred")}},
		v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: named("none"), Optional: new(true)}},
		v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{fieldFile("conf/name", "metadata.name")}}},
	))
	path, _ := prepare(t, pod, testPodDir(t), o).Path("all")
	want := []string{
		". dtrwxrwxrwx 0", "TIME drwxr-xr-x 0", "TIME/conf drwxr-xr-x 0", "TIME/conf/a -r--r--r-- 0", "TIME/conf/name -r--r----- 0",
		"TIME/key -r--r----- 0", "..data -> TIME", "conf -> ..data/conf", "key -> ..data/key",
	}
	assert.Deep(t, "A-VOL-5", want, tree(t, path))
	var stat unix.Statfs_t
	err := unix.Statfs(path, &stat)
	assert.True(t, err == nil && stat.Type == unix.TMPFS_MAGIC, "file system %x, %v, want a tmpfs: there is a secret in it", stat.Type, err)
}

func TestProjectedTellsAllThatIsWrong(t *testing.T) {
	pod := podWith(projectedVolume(nil,
		v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "none"}}},
		v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{fieldFile("x", "spec.nodeName")}}},
		v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
	))
	_, err := Prepare(t.Context(), pod, testPodDir(t), Sources{Objects: objects{}})
	want := `MountVolume.SetUp failed for volume "all" : [configmaps "none" not found, unsupported fieldPath: spec.nodeName, ` +
		"only configMap, secret and downwardAPI can be projected: tokens, trust bundles and certificates come from an API server, and there is none]"
	assert.Error(t, want, err, "A-SYNC-8")
}
