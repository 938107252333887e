package worker

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// A pod's plain life takes what its calls take: nothing waits for a poll (B-WRK-15, A-PLEG-6).
func TestLifeTakesWhatItsCallsTake(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		pod := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		// sandbox 90, its status 1, create 4, start 40; the image is looked up meanwhile
		assert.Equal(t, 115*time.Millisecond, pod.await("running", running), "running after")
		time.Sleep(time.Minute)
		asked := s.elapsed()
		pod.stop(30)
		// StopContainer: the process ends in its middle; then the sandbox is stopped, removed, looked for
		assert.Equal(t, (19+100+14)*time.Millisecond, pod.gone()-asked, "gone after")
		want := []string{
			"RunPodSandbox web attempt=0", "CreateContainer web/main attempt=0", "StartContainer web/main",
			"StopContainer web/main timeout=30", "StopPodSandbox web", "RemovePodSandbox web",
		}
		assert.Deep(t, "calls", want, s.Acted())
		assert.Empty(t, s.Left(), "left behind")
	})
}

// Run ends with ctx: what is under way is given up, the pod stays as it is.
func TestRunEndsWithItsContext(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		pod := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		s.awaitCall("CreateContainer web/main attempt=0")
		before := s.elapsed()
		s.end()
		assert.ErrorIs(t, context.Canceled, <-pod.done, "Run")
		took := s.elapsed() - before
		assert.True(t, took == 0, "Run ended %v after its context", took)
		assert.Deep(t, "left", []string{"sandbox web attempt=0 ready"}, s.Left())
	}, "hang CreateContainer web/main")
}

// An ephemeral container of a pod that runs sees its target's processes, has its
// terminal, and is not started again when it ends (A-ACT-5, A-CRI-5, A-RST-2).
func TestEphemeralContainer(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))

		debug := v1.EphemeralContainer{TargetContainerName: "main"}
		debug.Name, debug.Image, debug.TTY, debug.Stdin = "debug", otherImage, true, true
		web.worker.Post(lifecycle.EphemeralContainerAdded{Container: debug})
		web.await("the ephemeral container to run", ephemeral(func(s v1.ContainerState) bool { return s.Running != nil }))
		want := "CreateContainer web/debug attempt=0 target=web/main tty"
		assert.True(t, slices.Contains(s.Acted(), want), "%q is not among the calls:\n%q", want, s.Acted())
		s.Exit("web/debug", 3)
		web.await("its end", ephemeral(func(s v1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 3 }))
		web.ends(1)
		assert.Empty(t, s.Left(), "left behind")
	})
}

func ephemeral(is func(v1.ContainerState) bool) func(v1.PodStatus) bool {
	return func(status v1.PodStatus) bool {
		list := status.EphemeralContainerStatuses
		return len(list) == 1 && is(list[0].State)
	}
}

// Fifty pods on one node live side by side, each at its own pace (A-SYNC-2).
func TestFiftyPods(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var pods []*life
		for i := range 50 {
			name := "web-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			s.Program(name+"/main", "exit=1 after=1s", "run term=500ms")
			pods = append(pods, s.run(podOf(name, v1.RestartPolicyAlways, "main")))
		}
		for _, pod := range pods {
			assert.Equal(t, 1140*time.Millisecond, pod.await("restarted", restarts(1)), "%s restarted at", pod.worker.pod.Name)
		}
		for _, pod := range pods {
			pod.stop(30)
		}
		asked := s.elapsed()
		for _, pod := range pods {
			assert.Equal(t, (19+500+100+14)*time.Millisecond, pod.gone()-asked, "%s gone after", pod.worker.pod.Name)
		}
		assert.Empty(t, s.Left(), "left behind")
	})
}
