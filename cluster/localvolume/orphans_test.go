package localvolume

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/localdriver"
)

// makeVolume has the driver of n1 make one, as if this controller was killed then.
func (s scene) makeVolume(t *testing.T, name string) {
	t.Helper()
	assert.Must(t, assert.ErrorOf(s.drivers.(nodes)["n1"].CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: 16 << 20},
		VolumeCapabilities: []*csi.VolumeCapability{{
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER},
			AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
		}},
	})))
}

// hasVolumes is how many volumes the driver of n1 has.
func (s scene) hasVolumes(t *testing.T) int {
	t.Helper()
	list := assert.Get(s.drivers.(nodes)["n1"].ListVolumes(t.Context(), &csi.ListVolumesRequest{})).Must(t)
	return len(list.GetEntries())
}

// volumeOf is a PersistentVolume of a volume of the driver.
func volumeOf(name, handle string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: localdriver.Name, VolumeHandle: handle}},
	}}
}

// A volume that was made for a claim which has gone since, before it had a PersistentVolume, is
// deleted after a while.
func TestOrphanIsDeleted(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{
		"claim gone":          {volumeOf("pvc-u2", "n1:pvc-u2")},
		"claim has it on n2":  {newClaim(nil), volumeOf("pvc-u1", "n2:pvc-u1")},
		"claim of its name":   {newClaim(func(c *v1.PersistentVolumeClaim) { c.UID = "u3" })},
		"nothing in the API ": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, objects...)
			s.makeVolume(t, "pvc-u1")
			o, now := orphans{controller: s.controller}, time.Now()
			for _, c := range []struct {
				after time.Duration
				want  int
			}{{0, 1}, {orphanAfter - time.Second, 1}, {orphanAfter, 0}} {
				o.look(t.Context(), now.Add(c.after))
				got := s.hasVolumes(t)
				assert.True(t, got == c.want, "after %s the driver has %d volumes, want %d", c.after, got, c.want)
			}
		})
	}
}

// Whatever may be somebody's stays, also if only the API server knows so yet.
func TestVolumeThatMayBeSomebodysIsKept(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, scene){
		"claim waits":            func(t *testing.T, s scene) { s.know(t, newClaim(nil)) },
		"its PersistentVolume":   func(t *testing.T, s scene) { s.know(t, volumeOf("pvc-u1", "n1:pvc-u1")) },
		"an administrator's":     func(t *testing.T, s scene) { s.know(t, volumeOf("mine", "n1:pvc-u1")) },
		"claim that is new":      func(t *testing.T, s scene) { s.add(t, newClaim(nil)) },
		"volume that is new":     func(t *testing.T, s scene) { s.add(t, volumeOf("pvc-u1", "n1:pvc-u1")) },
		"it is being made":       func(t *testing.T, s scene) { s.begin(t, "pvc-u1") },
		"node without an answer": func(_ *testing.T, s scene) { delete(s.drivers.(nodes), "n1") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.makeVolume(t, "pvc-u1")
			s.makeVolume(t, "other")
			driver := s.drivers.(nodes)["n1"]
			prepare(t, s)
			o, now := orphans{controller: s.controller}, time.Now()
			for i := range 5 {
				o.look(t.Context(), now.Add(time.Duration(i)*orphanAfter))
			}
			s.drivers.(nodes)["n1"] = driver
			got := s.hasVolumes(t)
			assert.True(t, got == 2, "the driver has %d volumes, want 2", got)
		})
	}
}

// add tells the API of an object that informers have not heard of.
func (s scene) add(t *testing.T, object runtime.Object) {
	t.Helper()
	assert.Must(t, s.client.Tracker().Add(object))
}

func (s scene) begin(t *testing.T, name string) {
	t.Helper()
	assert.Must(t, assert.ErrorOf(s.making.begin(name)))
}
