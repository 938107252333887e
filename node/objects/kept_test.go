package objects

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestMigrated: volumes of types that were handed over to drivers are those of the drivers
// (A-CSI-14).
func TestMigrated(t *testing.T) {
	disk := &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", FSType: "ext4"}
	bound := &v1.PersistentVolume{}
	bound.Name, bound.Spec.AWSElasticBlockStore = "pv", disk
	got, err := migrated(bound)
	assert.True(t, err == nil && got.Name == "pv" && got.Spec.CSI != nil && got.Spec.CSI.Driver == "ebs.csi.aws.com" && got.Spec.CSI.VolumeHandle == "vol-1",
		"a PersistentVolume becomes %+v, %v", got, err)
	inline := &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: disk}}
	got, err = (&Objects{}).Migrated(&v1.Pod{}, inline)
	assert.True(t, err == nil && got.Spec.CSI != nil && got.Spec.CSI.Driver == "ebs.csi.aws.com" && got.Spec.CSI.FSType == "ext4",
		"a volume of a pod becomes %+v, %v", got, err)
	for _, other := range []v1.VolumeSource{{NFS: &v1.NFSVolumeSource{}}, {EmptyDir: &v1.EmptyDirVolumeSource{}}} {
		got, err := (&Objects{}).Migrated(&v1.Pod{}, &v1.Volume{VolumeSource: other})
		assert.True(t, got == nil && err == nil, "%+v becomes %+v, %v", other, got, err)
	}
	local := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}}}}
	got, err = migrated(local)
	assert.True(t, got == local && err == nil, "a local volume becomes %+v, %v", got, err)
}
