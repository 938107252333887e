package csi

import (
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestStats: the driver of a pod's volume is asked where it has published it, if it can say it (A-CSI-16).
func TestStats(t *testing.T) {
	const usage = csi.NodeServiceCapability_RPC_GET_VOLUME_STATS
	pod, bound, device := podOf("pod"), persistent("pv"), persistent("device")
	device.Spec.VolumeMode = new(v1.PersistentVolumeBlock)

	m := newMachine(t, newDriver(t, usage), nil)
	m.mustPublish(pod, bound)
	m.mustPublish(pod, device)
	for name, at := range map[string]string{
		"pv":     filepath.Join(m.config.PodsDir, "uid-pod/volumes/kubernetes.io~csi/pv/mount"),
		"device": filepath.Join(m.config.PluginsDir, "kubernetes.io/csi/volumeDevices/publish/device/uid-pod"),
	} {
		answer := assert.Get(m.volumes.Stats(t.Context(), pod.UID, name)).Must(t)
		asked := m.driver.figured
		assert.True(t, answer.GetUsage()[0].Total == 7 && asked == at, "%s: %v of %s, want what is at %s", name, answer, asked, at)
	}
	answer, err := m.volumes.Stats(t.Context(), pod.UID, "other")
	assert.True(t, answer == nil && err == nil, "of a volume that the pod does not have: %v, %v", answer, err)
	assert.NoError(t, m.unpublish(pod))

	for name, test := range map[string]struct {
		can  []csi.NodeServiceCapability_RPC_Type
		says bool
	}{"usage only": {can: []csi.NodeServiceCapability_RPC_Type{usage}, says: true}, "nothing": {}} {
		m := newMachine(t, newDriver(t, test.can...), nil)
		m.mustPublish(pod, bound)
		answer, err := m.volumes.Stats(t.Context(), pod.UID, "pv")
		assert.True(t, err == nil && (answer != nil) == test.says, "of a driver that says %s: %v, %v", name, answer, err)
		assert.NoError(t, m.unpublish(pod))
	}
}
