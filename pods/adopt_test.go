package pods

import (
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
)

// Only a static pod has its status written to a mirror pod: annotations make no pod of
// the API one (B-STA-3).
func TestStaticPodsStatus(t *testing.T) {
	tell(t, func(s *story) {
		hashed := func(pod *v1.Pod) {
			pod.Annotations = map[string]string{source.SourceAnnotation: "file", source.HashAnnotation: "hash of " + pod.Name}
		}
		s.pods.Wanted(roster.File, podOf("static", hashed))
		s.begins(podOf("forged", hashed))
		assert.Deep(t, "statuses with the hashes", map[types.UID]string{"uid-static": "hash of static", "uid-forged": ""}, s.hashes)
	}, roster.File, roster.API)
}

// A static pod that another agent has begun is adopted with the status of its mirror
// pod: its file has none, and whoever reads the status sees no difference (B-RST-7,
// B-RST-6). When the API cannot be heard the runtime alone knows how it stands.
func TestStaticPodIsAdoptedAsItsMirror(t *testing.T) {
	for _, test := range []struct {
		name  string
		heard bool // the API
	}{{"API heard", true}, {"API away", false}} {
		tellOf(t, test.name, func(t *testing.T, s *story) {
			pod := staticPod("web", "1")
			s.pods.Wanted(roster.File, pod)
			s.heard()
			time.Sleep(time.Minute)
			before := s.status(pod.UID)
			s.stop()
			assert.Must(t, os.RemoveAll(s.memory().Dir)) // nothing is remembered
			s.api.shown = map[types.UID]*v1.Pod{}
			s.api.sets = nil
			s.agent()
			s.pods.Wanted(roster.File, pod)
			s.pods.Heard(roster.File)
			s.settle()
			assert.True(t, len(s.api.sets) == 0, "statuses %v were told before the API was heard", s.api.sets)
			if test.heard {
				mirror := pod.DeepCopy()
				mirror.UID, mirror.Status = "mirror", before
				s.api.shown[pod.UID] = mirror
				s.pods.Heard(roster.API)
			}
			time.Sleep(time.Minute)
			for _, phase := range s.api.sets {
				assert.Equal(t, v1.PodRunning, phase, "the pod was told to be")
			}
			after := s.status(pod.UID)
			if !test.heard { // what the mirror pod alone knows
				before.StartTime, after.StartTime = nil, nil
				for i := range after.Conditions {
					after.Conditions[i].LastTransitionTime = before.Conditions[i].LastTransitionTime
				}
			}
			assert.Deep(t, "status of the adopted pod", before, after)
			s.wantActed("RunPodSandbox web attempt=0", 1)
		}, roster.File, roster.API)
	}
}

// ranBefore is the status of a pod whose container has been restarted four times.
func ranBefore(pod *v1.Pod) {
	pod.Status = v1.PodStatus{
		Phase: v1.PodRunning,
		Conditions: []v1.PodCondition{
			{Type: v1.PodInitialized, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionTrue},
		},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", ContainerID: "crifake://c", RestartCount: 4, Ready: true, Image: image,
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}},
	}
}

// A status that tells of containers doesn't spare a pod admission, of which the runtime
// has nothing: it goes on as the status says if the node has room for it and may run it
// (B-RST-2, B-RST-4). One that has ended, or is being deleted, needs no room (B-WRK-23).
func TestStatusIsNoAdmission(t *testing.T) {
	ended := func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed }
	deleted := func(pod *v1.Pod) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(1))
	}
	unsafe := func(pod *v1.Pod) { pod.Spec.SecurityContext.Sysctls = []v1.Sysctl{{Name: "kernel.msgmax", Value: "1"}} }
	for name, test := range map[string]struct {
		changes []func(*v1.Pod)
		phase   v1.PodPhase
		reason  string
		runs    int
		deleted []string
	}{
		"fits":         {changes: []func(*v1.Pod){ranBefore}, phase: v1.PodRunning, runs: 1},
		"is too big":   {changes: []func(*v1.Pod){ranBefore, requesting("5")}, phase: v1.PodFailed, reason: "OutOfcpu"},
		"is forbidden": {changes: []func(*v1.Pod){ranBefore, unsafe}, phase: v1.PodFailed, reason: "SysctlForbidden"},
		"has ended":    {changes: []func(*v1.Pod){ranBefore, ended, requesting("5")}, phase: v1.PodFailed},
		"is deleted":   {changes: []func(*v1.Pod){ranBefore, deleted, requesting("5")}, phase: v1.PodFailed, deleted: []string{"web Failed"}},
	} {
		tellOf(t, name, func(t *testing.T, s *story) {
			s.pods.Engine.Admission.Host = &admit.Host{}
			s.begins(podOf("web", test.changes...))
			time.Sleep(time.Minute)
			pod, found := s.pods.Pod("default", "web")
			assert.Require(t, found, "the pod is gone")
			assert.True(t, pod.Status.Phase == test.phase && pod.Status.Reason == test.reason,
				"phase %s, reason %s, want %s, %s", pod.Status.Phase, pod.Status.Reason, test.phase, test.reason)
			if calls := s.Acted(); s.acted("RunPodSandbox web attempt=1") != test.runs || test.runs == 0 && len(calls) > 0 {
				t.Errorf("calls %q, want %d new sandboxes", calls, test.runs)
			}
			assert.Deep(t, "deletions", test.deleted, s.deletions())
			if c := pod.Status.ContainerStatuses; test.runs > 0 && (len(c) != 1 || c[0].RestartCount != 5 || c[0].LastTerminationState.Terminated.Reason != "ContainerStatusUnknown") {
				t.Errorf("it goes on as %+v, want its fifth restart", c)
			}
		})
	}
}

// What the runtime has of a pod was admitted once, also when it would not be now
// (B-RST-2's better).
func TestWhatRunsIsNotAdmittedAgain(t *testing.T) {
	tell(t, func(s *story) {
		pod := podOf("web", requesting("3"))
		s.begins(pod)
		s.wantPhase("web", v1.PodRunning)
		s.stop()
		assert.Must(t, os.RemoveAll(s.memory().Dir)) // nothing is remembered
		s.node.Status.Allocatable = resources("1", "8Gi")
		s.agent()
		s.begins(pod)
		time.Sleep(time.Minute)
		s.wantPhase("web", v1.PodRunning)
		s.wantActed("RunPodSandbox web attempt=0", 1)
	})
}

// What a call of an agent that was killed makes when its pod has gone, another agent finds and ends (B-WRK-21).
func TestSandboxThatComesLate(t *testing.T) {
	tell(t, func(s *story) {
		s.heard()
		s.Fault("carry-out-late RunPodSandbox web by=60s")
		pod := podOf("web")
		pod.Spec.NodeName = s.node.Name
		s.apply(pod)
		time.Sleep(time.Second)
		s.stop()
		s.agent()
		s.begins(pod)
		s.deletes(pod, 1)
		s.settle()
		s.pods.Unwanted(roster.API, pod.UID)
		s.settle()
		left := s.Left()
		assert.Require(t, len(left) == 0 && len(s.pods.Views()) == 0, "before the sandbox came: %q, %d pods", left, len(s.pods.Views()))
		for range 60 {
			if len(s.Left()) > 0 {
				break
			}
			time.Sleep(time.Second)
		}
		assert.True(t, len(s.Left()) != 0, "no sandbox came")
		time.Sleep(30 * time.Second)
		left = s.Left()
		assert.True(t, len(left) == 0 && len(s.pods.Views()) == 0, "after two looks: %q, %d pods", left, len(s.pods.Views()))
	})
}

// A pod is looked at again if a call of the runtime for that has no answer (B-RST-2).
func TestLookWithoutAnAnswer(t *testing.T) {
	tell(t, func(s *story) {
		s.begins(podOf("web"))
		status := s.status("uid-web")
		s.stop()
		assert.Must(t, os.RemoveAll(s.memory().Dir)) // nothing is remembered
		s.Fault("hang PodSandboxStatus web times=2")
		s.agent()
		s.begins(podOf("web", func(pod *v1.Pod) { pod.Status = status }))
		s.deletes(podOf("web"), 1)
		time.Sleep(time.Minute)
		assert.Deep(t, "deletions", []string{"web Failed"}, s.deletions())
	})
}
