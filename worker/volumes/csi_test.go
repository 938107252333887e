package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// drivers make a folder for each volume that a pod asks for.
type drivers struct {
	podDir string
	asked  []CSIRequest
	before func() // nil, or what comes before each answer
}

func (d *drivers) Publish(_ context.Context, r CSIRequest) (CSIVolume, error) {
	d.asked = append(d.asked, r)
	if d.before != nil {
		d.before()
	}
	volume := r.Inline
	if volume == nil {
		volume = &v1.Volume{Name: r.Bound.Name}
	}
	name := volume.Name
	if name == "many" {
		return CSIVolume{}, &LimitError{Err: errors.New("too many disks")}
	}
	if name == "broken" {
		return CSIVolume{}, &MountError{Volume: name, Step: "MountVolume.MountDevice failed", Err: errors.New("no disk")}
	}
	path := filepath.Join(d.podDir, "volumes/kubernetes.io~csi", name, "mount")
	return CSIVolume{Path: path, Relabel: true}, os.MkdirAll(path, 0o700)
}

func (*drivers) Unpublish(context.Context, types.UID) error { return nil }

func ofCSI(name string) *v1.PersistentVolume {
	bound := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d"}}}}
	bound.Name = name
	return bound
}

// TestCSI: claims, volumes of the pod's own and migrated ones come from drivers, and are brought up
// to date with the others (A-CSI-4, A-CSI-9, A-CSI-11, A-CSI-14).
func TestCSI(t *testing.T) {
	podDir := testPodDir(t)
	pod := podWith(claimVolume("data", true), v1.Volume{Name: "own", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}},
		v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}}})
	d := &drivers{podDir: podDir}
	sources := Sources{CSI: d, API: api{volumes: map[string]*v1.PersistentVolume{"data": ofCSI("pv"), "disk": ofCSI("translated")}}}
	m := assert.Get(Prepare(t.Context(), pod, podDir, sources)).Must(t)
	for volume, name := range map[string]string{"data": "pv", "own": "own", "disk": "translated"} {
		path, _ := m.Path(volume)
		assert.True(t, path == filepath.Join(podDir, "volumes/kubernetes.io~csi", name, "mount"), "volume %s is at %s", volume, path)
	}
	readOnly := []bool{d.asked[0].ReadOnly, d.asked[1].ReadOnly}
	assert.True(t, slices.Equal(readOnly, []bool{true, false}) && !d.asked[0].Again, "asked for read-only volumes: %v", readOnly)
	d.asked = nil
	assert.Must(t, Refresh(t.Context(), pod, podDir, sources))
	assert.True(t, len(d.asked) == 2 && d.asked[0].Again && d.asked[0].Bound.Name == "pv" && d.asked[1].Again, "asked again: %+v", d.asked)
	sources.API = api{volumes: map[string]*v1.PersistentVolume{"data": ofCSI("broken")}}
	_, err := Prepare(t.Context(), podWith(claimVolume("data", false)), testPodDir(t), sources)
	want := `MountVolume.MountDevice failed for volume "broken" : no disk`
	assert.True(t, err != nil && err.Error() == want, "error = %v, want %s", err, want)
}

// TestFound: the groups that claims name are reported before any driver has answered, once all claims are
// bound to what this node may use, and to nobody before (A-SEC-3, A-SYNC-8).
func TestFound(t *testing.T) {
	bound := func(name, group string) *v1.PersistentVolume {
		volume := ofCSI(name)
		volume.Annotations = map[string]string{"pv.beta.kubernetes.io/gid": group}
		return volume
	}
	all := map[string]*v1.PersistentVolume{"a": bound("pv-a", "78"), "b": bound("pv-b", "77"), "c": bound("pv-c", "78"), "odd": bound("pv-odd", "staff")}
	for _, tc := range []struct {
		name    string
		sources Sources
		want    string
	}{
		{"all are bound", Sources{API: api{volumes: all}}, "[77 78] when 0 are mounted"},
		{"nothing is known of them", Sources{API: api{err: errors.New("persistentvolumeclaim \"a\" not found")}}, ""},
		{"another node has them", Sources{API: api{volumes: all, elsewhere: errors.New("no matching NodeSelectorTerms")}}, ""},
		{"without an API server", Sources{ClaimsDir: t.TempDir()}, "[] when 0 are mounted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			podDir, mounted, got := testPodDir(t), 0, ""
			tc.sources.CSI = &drivers{podDir: podDir, before: func() { mounted++ }}
			tc.sources.Found = func(groups []int64) { got += fmt.Sprint(groups, " when ", mounted, " are mounted") }
			pod := podWith(claimVolume("a", false), claimVolume("b", false), claimVolume("c", false), claimVolume("odd", false))
			m, err := Prepare(t.Context(), pod, podDir, tc.sources)
			assert.True(t, (err == nil) == (tc.want != "") && got == tc.want, "told %q, error %v; want %q", got, err, tc.want)
			groups := m.Groups()
			assert.True(t, err != nil || strings.HasPrefix(got, fmt.Sprint(groups)), "mounted with groups %v, told %q", groups, got)
		})
	}
}

// TestWaitsForNoDriver: while a driver publishes a volume, those after it that need none are made.
func TestWaitsForNoDriver(t *testing.T) {
	podDir := testPodDir(t)
	made := filepath.Join(podDir, "volumes/kubernetes.io~configmap/conf/a")
	d := &drivers{podDir: podDir, before: func() {
		for range 1000 {
			if _, err := os.Stat(made); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("the configMap is not there when the driver answers")
	}}
	pod := podWith(claimVolume("data", false), configMapVolume("conf", v1.ConfigMapVolumeSource{}))
	o := objects{configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1"}}}}
	sources := Sources{Objects: o, CSI: d, API: api{volumes: map[string]*v1.PersistentVolume{"data": ofCSI("pv")}}}
	assert.NoError(t, assert.ErrorOf(Prepare(t.Context(), pod, podDir, sources)))
}

// TestTooManyVolumes: the failure names the volume of the pod (A-SYNC-8).
func TestTooManyVolumes(t *testing.T) {
	podDir := testPodDir(t)
	sources := Sources{CSI: &drivers{podDir: podDir}, API: api{volumes: map[string]*v1.PersistentVolume{"data": ofCSI("many")}}}
	_, err := Prepare(t.Context(), podWith(claimVolume("data", false)), podDir, sources)
	limit, is := errors.AsType[*LimitError](err)
	want := "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: too many disks"
	assert.True(t, is && limit.Error() == want, "error = %v, want %s", err, want)
}
