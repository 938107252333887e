package volumes

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

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
	m, err := Prepare(t.Context(), pod, dir, sources)
	assert.Must(t, err)
	want := map[string]bool{
		"disk": true, "conf": true, "token": true, "info": true, "all": true, "host": false, "local": true, "read": false, "csi": true, "own": true,
	}
	for _, enabled := range []bool{true, false} {
		mounts, err := m.Mounts(&pod.Spec.Containers[0], MountInput{SELinux: enabled})
		assert.Must(t, err)
		got := map[string]bool{}
		for i, mount := range pod.Spec.Containers[0].VolumeMounts {
			got[mount.Name] = mounts[i].SelinuxRelabel
			want[mount.Name] = want[mount.Name] && enabled
		}
		assert.Deep(t, fmt.Sprintf("with SELinux %v the runtime labels", enabled), want, got)
	}
}
