package worker

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// A stop during the start gives up what only serves the start, at once.
func TestStopDuringStart(t *testing.T) {
	for _, test := range []struct {
		name, during string
		fault        string
		gone         time.Duration // after the stop, at the latest
		acted        []string      // nil: not looked at
	}{
		{
			name: "pull", during: "PullImage example.org/absent:1", fault: "hang PullImage", gone: 230 * time.Millisecond,
			acted: []string{"RunPodSandbox web attempt=0", "PullImage example.org/absent:1", "StopPodSandbox web", "RemovePodSandbox web"},
		},
		{
			// given up or waited for, what it made goes with the pod
			name: "sandbox", during: "RunPodSandbox web attempt=0", gone: 510 * time.Millisecond,
		},
		{
			name: "create", during: "CreateContainer web/main attempt=0", gone: 120 * time.Millisecond,
			acted: []string{"RunPodSandbox web attempt=0", "CreateContainer web/main attempt=0", "StopPodSandbox web", "RemovePodSandbox web"},
		},
		{
			name: "start", during: "StartContainer web/main", gone: 200 * time.Millisecond,
			acted: []string{
				"RunPodSandbox web attempt=0", "CreateContainer web/main attempt=0", "StartContainer web/main",
				"StopContainer web/main timeout=30", "StopPodSandbox web", "RemovePodSandbox web",
			},
		},
	} {
		storyOf(t, test.name, func(t *testing.T, s *story) {
			pod := podOf("web", v1.RestartPolicyAlways, "main")
			if test.fault != "" {
				s.Fault(test.fault)
			}
			if strings.Contains(test.during, "PullImage") {
				pod.Spec.Containers[0].Image = "example.org/absent:1"
			}
			web := s.run(pod)
			s.awaitCall(test.during)
			if test.name == "pull" {
				time.Sleep(time.Second) // the sandbox is ready meanwhile
			}
			asked := s.elapsed()
			web.stop(30)
			took := web.gone() - asked
			assert.True(t, took <= test.gone, "gone after %v, want %v at the latest", took, test.gone)
			acted := s.Acted()
			for i, text := range acted { // the sandbox and the pull begin side by side
				if strings.HasPrefix(text, "PullImage") && i == 0 {
					acted[0], acted[1] = acted[1], acted[0]
				}
			}
			diff := cmp.Diff(test.acted, acted)
			assert.True(t, diff == "" || test.acted == nil, "calls (-want +got):\n%s", diff)
			for _, c := range s.Calls() {
				if c.String() == test.during && test.fault != "" && c.At.Add(c.Took).Sub(s.start) != asked {
					t.Errorf("%s was given up %v after the stop", c, c.At.Add(c.Took).Sub(s.start)-asked)
				}
			}
			assert.Empty(t, s.Left(), "left behind")
		})
	}
}

// A shorter grace and force are second calls that take effect at once.
func TestStopHarder(t *testing.T) {
	grace := int64(5)
	for _, test := range []struct {
		name   string
		harder lifecycle.StopRequested
		gone   time.Duration // after the first stop
		calls  []string
	}{
		{
			"shorter grace", lifecycle.StopRequested{GraceSeconds: &grace}, (2*19+14+100)*time.Millisecond + 10*time.Second + 5*time.Second - 19*time.Millisecond,
			[]string{"StopContainer web/main timeout=30", "StopContainer web/main timeout=5"},
		},
		{
			"force", lifecycle.StopRequested{Force: true}, (2*19+14+100)*time.Millisecond + 10*time.Second - 19*time.Millisecond,
			[]string{"StopContainer web/main timeout=30", "StopContainer web/main timeout=0"},
		},
	} {
		storyOf(t, test.name, func(t *testing.T, s *story) {
			s.Program("main", "run term=ignore")
			web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
			web.stop(30)
			asked := s.elapsed()
			time.Sleep(10 * time.Second)
			web.worker.Stop(test.harder)
			assert.Equal(t, test.gone, web.gone()-asked, "gone after")
			var stops []string
			for _, text := range s.Acted() {
				if strings.HasPrefix(text, "StopContainer") {
					stops = append(stops, text)
				}
			}
			assert.Deep(t, "stops", test.calls, stops)
			end := web.last().ContainerStatuses[0].State.Terminated
			assert.True(t, end != nil && end.ExitCode == 137, "ended as %+v, want 137", end)
		})
	}
}

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
		assert.Deep(t, "counted", []string{"emptydirfs.limit"}, counted.signals)
	})
}
