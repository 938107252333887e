package worker

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// evictionsCounted keeps the evictions that were counted.
type evictionsCounted struct {
	mu      sync.Mutex
	signals []string
}

func (c *evictionsCounted) Carried(_ *v1.Pod, effect lifecycle.Effect, _ lifecycle.Fact, _ time.Duration) {
	if e, is := effect.(lifecycle.CountEviction); is {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.signals = append(c.signals, e.Signal)
	}
}

// TestLocalStorageIsCounted: a pod that exceeds a limit of its own is evicted, and counted
// once (B-LST-1).
func TestLocalStorageIsCounted(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var counted evictionsCounted
		s.node.Watch = &counted
		s.Program("main", "run")
		pod := podOf("p", v1.RestartPolicyNever, "main")
		pod.Spec.Volumes = []v1.Volume{{Name: "small", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(32<<10, resource.BinarySI)}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "small", MountPath: "/small"}}
		l := s.run(pod)
		l.await("Running", func(st v1.PodStatus) bool { return st.Phase == v1.PodRunning })
		small := filepath.Join(s.node.Folders.Pods, string(pod.UID), "volumes", "kubernetes.io~empty-dir", "small")
		assert.Must(t, os.WriteFile(filepath.Join(small, "file"), make([]byte, 64<<10), 0o600))
		l.await("Failed", func(st v1.PodStatus) bool { return st.Phase == v1.PodFailed && st.Reason == "Evicted" })
		if want := []string{"emptydirfs.limit"}; !slices.Equal(counted.signals, want) {
			t.Errorf("counted %q, want %q", counted.signals, want)
		}
	})
}
