package pods

import (
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

func (s *story) ended(since int) []string {
	return slices.DeleteFunc(s.Acted()[since:], func(call string) bool {
		return !strings.HasPrefix(call, "Stop") && !strings.HasPrefix(call, "Exec") && !strings.HasPrefix(call, "Remove")
	})
}

// TestEndsWithoutItsLifepod: a pod whose lifepod does not run ends by its machine all the same: the preStop hook, its own
// grace, and sidecars last (B-WRK-9, B-SIDE-2); without what was kept of it by its containers alone.
func TestEndsWithoutItsLifepod(t *testing.T) {
	side := func(pod *v1.Pod) {
		sidecar := *pod.Spec.Containers[0].DeepCopy()
		sidecar.Name, sidecar.RestartPolicy = "side", new(v1.ContainerRestartPolicyAlways)
		pod.Spec.InitContainers = []v1.Container{sidecar}
		pod.Spec.TerminationGracePeriodSeconds = new(int64(77))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"hook"}}}}
	}
	for name, test := range map[string]struct {
		forgotten bool
		want      []string
	}{
		"kept": {false, []string{
			"ExecSync web/main hook", "StopContainer web/main timeout=77", "StopContainer web/side timeout=77", "StopPodSandbox web", "RemovePodSandbox web",
		}},
		"forgotten": {true, []string{
			"RemovePodSandbox web", "StopContainer web/main timeout=30", "StopContainer web/side timeout=30", "StopPodSandbox web",
		}},
	} {
		tellOf(t, name, func(t *testing.T, s *story) {
			s.begins(podOf("web", side))
			s.settle()
			s.wantPhase("web", v1.PodRunning)
			s.stop()
			if test.forgotten {
				assert.Must(t, os.RemoveAll(s.memory().Dir))
			}
			since := len(s.Acted())
			n, err := Ending{Engine: s.pods.Engine, Kept: s.memory().Pods(), Request: lifecycle.StopRequested{Because: lifecycle.Because{Text: "lifepod down"}}}.Run(s.Context())
			assert.True(t, n == 1 && err == nil, "%d pods, error %v", n, err)
			got := s.ended(since)
			if test.forgotten {
				slices.Sort(got) // which was a sidecar is forgotten, too: both end at the same time
			}
			assert.Deep(t, "calls", test.want, got)
		}, roster.API)
	}
}
