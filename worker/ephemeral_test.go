package worker

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// An ephemeral container of a pod that runs sees its target's processes, has its
// terminal, and is not started again when it ends (A-ACT-5, A-CRI-5, A-RST-2).
func TestEphemeralContainer(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		web.await("the pod to run", running)

		debug := v1.EphemeralContainer{TargetContainerName: "main"}
		debug.Name, debug.Image, debug.TTY, debug.Stdin = "debug", otherImage, true, true
		web.worker.Post(lifecycle.EphemeralContainerAdded{Container: debug})
		web.await("the ephemeral container to run", ephemeral(func(s v1.ContainerState) bool { return s.Running != nil }))
		want := "CreateContainer web/debug attempt=0 target=web/main tty"
		assert.True(t, slices.Contains(s.Acted(), want), "%q is not among the calls:\n%q", want, s.Acted())
		s.Exit("web/debug", 3)
		web.await("its end", ephemeral(func(s v1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 3 }))
		web.stop(1)
		web.gone()
		assert.Empty(t, s.Left(), "left behind")
	})
}

func ephemeral(is func(v1.ContainerState) bool) func(v1.PodStatus) bool {
	return func(status v1.PodStatus) bool {
		list := status.EphemeralContainerStatuses
		return len(list) == 1 && is(list[0].State)
	}
}
