package pods

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

// deleting is a pod that is being deleted, with a grace period of 30 s from now.
func deleting(pod *v1.Pod) {
	pod.Generation++
	pod.DeletionGracePeriodSeconds = new(int64(30))
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(30 * time.Second)}
}

// A pod that vanishes from the API ends with the grace period that was known last:
// its own, or that of its deletion (B-WRK-22).
func TestVanishedPod(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=ignore")
		forced, shortened := podOf("forced"), podOf("shortened")
		s.begins(forced, shortened)
		s.pods.Unwanted(roster.API, forced.UID)
		s.pods.Unwanted(roster.API, s.deletes(shortened, 7).UID)
		s.settle()
		s.wantActed("StopContainer forced/main timeout=30", 1)
		s.wantActed("StopContainer shortened/main timeout=7", 1)
		time.Sleep(time.Minute)
		s.wantPhase("forced", "none")
		got := s.deletions()
		assert.True(t, len(got) == 0, "deletions %q of pods that the API does not have", got)
	})
}

// A pod of the API begins while another of its name, with another UID, still ends
// (B-WRK-20).
func TestSameNameInTheAPI(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=ignore", "run")
		old := podOf("web-0")
		s.begins(old)
		s.pods.Unwanted(roster.API, old.UID) // as after a forced deletion
		s.apply(podOf("web-0", func(pod *v1.Pod) { pod.UID = "another" }))
		s.settle()
		s.wantActed("StopPodSandbox web-0", 0)
		s.wantActed("RunPodSandbox web-0 attempt=0", 2)
		status := s.status("another")
		assert.True(t, status.Phase == v1.PodRunning, "the new pod is %s; calls %q", status.Phase, s.Acted())
	})
}

// A pod that was created and deleted while no agent was there is removed, although
// there is no room for it (B-E2E-7).
func TestCreatedAndDeletedWhileAway(t *testing.T) {
	tell(t, func(s *story) {
		s.begins(podOf("big", requesting("64"), deleting))
		assert.Deep(t, "deletions", []string{"big Failed"}, s.deletions())
		calls := s.Acted()
		assert.True(t, !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "RunPodSandbox") }), "calls %q", calls)
	})
}

// A pod that has run, and for which there is no room any more, is removed when it was
// deleted while no agent was there (B-E2E-8), also if nothing is remembered of it.
func TestDeletedAfterItRan(t *testing.T) {
	for name, forgotten := range map[string]bool{"remembered": false, "not remembered": true} {
		tellOf(t, name, func(t *testing.T, s *story) {
			pod := podOf("web", requesting("2"))
			s.begins(pod)
			pod.Status = s.status(pod.UID)
			s.stop()
			if forgotten {
				assert.Must(t, os.RemoveAll(s.memory().Dir))
			}
			s.node.Status.Allocatable[v1.ResourceCPU] = *resourceOf(1)
			s.agent()
			deleting(pod)
			s.begins(pod)
			time.Sleep(time.Minute)
			diff := cmp.Diff([]string{"web Failed"}, s.deletions())
			assert.True(t, diff == "" && len(s.Left()) == 0, "deletions (-want +got):\n%s left %q", diff, s.Left())
		})
	}
}

// The object of a pod that succeeded during its deletion is removed by the next agent
// if the one before was killed first (B-E2E-6).
func TestSucceededBeforeTheDelete(t *testing.T) {
	tell(t, func(s *story) {
		pod := podOf("job", never, deleting, func(pod *v1.Pod) {
			pod.Status = v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: []v1.ContainerStatus{{
				Name: "main", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}},
			}}}
		})
		s.begins(pod)
		time.Sleep(time.Minute)
		assert.Deep(t, "deletions", []string{"job Succeeded"}, s.deletions())
		assert.Empty(t, s.Acted(), "calls")
	})
}

// A static pod that has ended has a terminal phase, by its exit codes (A-PHASE-11,
// B-FIN-8), and is not tried again before its manifest changes or another agent comes
// (B-STA-8).
func TestStaticPodEnds(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "exit=3 after=1s")
		pod := staticPod("job", "1")
		never(pod)
		s.pods.Wanted(roster.File, pod)
		s.heard()
		s.wantPhase("job", v1.PodFailed)
		time.Sleep(time.Hour)
		s.wantActed("RunPodSandbox job attempt=0", 1)

		always := staticPod("web", "1")
		s.Program("main", "run term=1s")
		s.pods.Wanted(roster.File, always)
		s.settle()
		s.pods.Unwanted(roster.File, always.UID)
		s.settle()
		assert.Equal(t, v1.PodFailed, s.status(always.UID).Phase, "a static pod that was stopped")
	}, roster.File)
}

// A pod of a folder restarts all its containers in place without an API server
// (B-RAC-E8).
func TestRestartAllWithoutAPI(t *testing.T) {
	tell(t, func(s *story) {
		s.node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		s.Program("main", "exit=42 after=1m", "run")
		pod := staticPod("web", "1")
		main := pod.Spec.Containers[0]
		policy, always := v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyAlways
		main.RestartPolicy = &policy
		main.RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
		init, side, other := *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy()
		init.Name, side.Name, other.Name, side.RestartPolicy = "init", "side", "other", &always
		s.Program("init", "exit=0 after=1s")
		pod.Spec.InitContainers, pod.Spec.Containers = []v1.Container{init, side}, []v1.Container{main, other}
		s.pods.Wanted(roster.File, pod)
		s.heard()
		time.Sleep(2 * time.Minute)
		got := map[string]int32{}
		shown, _ := s.pods.Pod("default", "web")
		for _, c := range slices.Concat(shown.Status.InitContainerStatuses, shown.Status.ContainerStatuses) {
			got[c.Name] = c.RestartCount
		}
		assert.Deep(t, "restart counts in /pods", map[string]int32{"init": 1, "side": 1, "main": 1, "other": 1}, got)
		s.wantPhase("web", v1.PodRunning)
	}, roster.File)
}

// A pod that has ended takes no room, also for the next agent (B-E2E-5, B-RST-19).
func TestEndedPodsTakeNoRoom(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "exit=0 after=1s", "run")
		ended := podOf("ended", never, requesting("3"))
		s.begins(ended)
		s.wantPhase("ended", v1.PodSucceeded)
		s.apply(podOf("next", requesting("3")))
		s.settle()
		s.wantPhase("next", v1.PodRunning)

		ended.Status, ended.Generation = s.status(ended.UID), 2
		s.stop()
		s.node.Status.Allocatable[v1.ResourceCPU] = *resourceOf(8)
		s.agent()
		s.begins(ended, podOf("next", requesting("3")))
		s.apply(podOf("last", requesting("5")))
		s.settle()
		s.wantPhase("last", v1.PodRunning)
		s.wantActed("RunPodSandbox ended attempt=0", 1)
	})
}
