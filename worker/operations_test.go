package worker

import (
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

// What is done for volumes is counted, by the plugin that Kubernetes has for them (A-VOL-7).
func TestVolumeOperations(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var mu sync.Mutex
		var counted []string
		s.node.API.Volumes = boundTo{"claim": hostPathVolume(t.TempDir(), "77")}
		s.node.API.VolumeOperation = func(o volumes.Operation) {
			mu.Lock()
			defer mu.Unlock()
			status := "success"
			if o.Failed {
				status = "failure"
			}
			counted = append(counted, o.Plugin+" "+o.Name+" "+status)
		}
		pod := podOf("a", v1.RestartPolicyAlways, "main")
		mount := func(name string, source v1.VolumeSource) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
		}
		mount("disk", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
		mount("claim", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}})
		l := s.run(pod)
		l.await("running", func(status v1.PodStatus) bool { return status.Phase == v1.PodRunning })
		l.stop(0)
		l.gone()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(counted)
		want := []string{
			"kubernetes.io/empty-dir volume_mount success", "kubernetes.io/empty-dir volume_unmount success",
			"kubernetes.io/host-path volume_mount success", "kubernetes.io/host-path volume_unmount success",
		}
		assert.Deep(t, "operations", want, counted)
	})
}
