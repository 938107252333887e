package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

// A runtime that dies while an agent starts is asked again what there is (B-RST-9).
func TestStartsWhileTheRuntimeIsAway(t *testing.T) {
	tell(t, func(s *story) {
		s.begins(podOf("stays"))
		calls := len(s.Acted())
		s.stop()
		s.GoDown(3 * time.Second)
		s.agent()
		s.settle()
		s.begins(podOf("stays"))
		more := s.Acted()[calls:]
		assert.True(t, len(more) == 0 && s.phase("stays") == v1.PodRunning, "after the start: %s, calls %q", s.phase("stays"), more)
	})
}

// The next agent goes on with the pods at once and invisibly, and ends what nobody
// wants when all sources were heard, not before (B-RST-1, B-RST-3, B-RST-6).
func TestGoesOnAfterAStop(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=2s")
		s.begins(podOf("stays"), podOf("goes"))
		before, calls := s.status("uid-stays"), len(s.Acted())
		s.stop()
		left := s.Left()
		assert.True(t, len(left) == 4, "after a stop of the agent there is %q", left)
		s.agent()
		s.settle()
		s.apply(podOf("stays"))
		s.settle()
		assert.Empty(t, s.Acted()[calls:], "calls before all sources were heard")
		assert.Deep(t, "status", before, s.status("uid-stays"), cmpopts.EquateEmpty())
		s.heard()
		s.wantActed("StopContainer goes/main timeout=30", 1)
		s.wantPhase("goes", "none")
		s.wantPhase("stays", v1.PodRunning)
	})
}

// After a reboot pods of the API wait until it was heard, as they may be another
// node's by now; those that it has no longer are never started again, and what is
// left of them goes (B-RST-11, B-RST-12, B-RST-21).
func TestAfterAReboot(t *testing.T) {
	tell(t, func(s *story) {
		s.begins(podOf("stays"), podOf("goes"))
		s.reboot()
		for range 3 { // the guard holds however often the agent starts
			s.agent()
			s.settle()
			assert.Empty(t, s.Acted(), "before the API was heard")
			s.stop()
		}
		s.agent()
		s.begins(podOf("stays"))
		time.Sleep(time.Minute)
		s.wantPhase("stays", v1.PodRunning)
		s.wantPhase("goes", "none")
		if calls := s.Acted(); slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "RunPodSandbox goes") }) {
			t.Errorf("a pod that nobody wants is started again: %q", calls)
		}
		assert.Fails(t, assert.ErrorOf(os.Stat(filepath.Join(s.dir, "pods", "uid-goes"))), "the folder of a pod that nobody wants is still there")
	})
}

// A pod that was deleted while no agent was there gets what is left of its grace
// (B-WRK-10), and its object is removed when nothing of it is left (B-WRK-24).
func TestDeletedWhileAway(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=ignore")
		pod := podOf("web")
		s.begins(pod)
		s.stop()
		gone := pod.DeepCopy()
		gone.Generation, gone.DeletionGracePeriodSeconds = 2, new(int64(30))
		gone.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(30 * time.Second)}
		time.Sleep(20 * time.Second)
		s.agent()
		s.begins(gone)
		s.wantActed("StopContainer web/main timeout=10", 1)
		time.Sleep(time.Minute)
		assert.Deep(t, "deletions", []string{"web Failed"}, s.deletions())
	})
}

// What the runtime has of pods that nobody wants is ended with a grace of a second
// and its files go; pods of lifepod run are left alone (B-WRK-21).
func TestOrphansOfTheRuntime(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=ignore")
		s.begins(podOf("orphan"), podOf("other"), podOf("wanted"))
		s.stop()
		assert.Must(t, os.RemoveAll(s.memory().Dir)) // nothing is remembered
		status := s.status("uid-wanted")
		s.foreign = func(uid types.UID) bool { return uid == "uid-other" }
		s.agent()
		s.settle()
		s.apply(podOf("wanted", func(pod *v1.Pod) { pod.Status = status }))
		calls := len(s.Acted())
		s.heard()
		time.Sleep(time.Minute)
		s.wantActed("StopContainer orphan/main timeout=2", 1) // the floor of a grace of 1 (B-SIG-4)
		if got := s.Acted()[calls:]; slices.ContainsFunc(got, func(c string) bool { return !strings.Contains(c, "orphan") }) {
			t.Errorf("calls %q, want only those about the orphan", got)
		}
		assert.True(t, len(s.Left()) == 4, "left: %q, want the wanted pod and the other lifepod's", s.Left())
		for name, want := range map[string]bool{"orphan": false, "other": true, "wanted": true} {
			_, err := os.Stat(filepath.Join(s.dir, "pods", "uid-"+name))
			assert.True(t, (err == nil) == want, "folder of %s: %v, want it to be there: %t", name, err, want)
		}
		s.wantPhase("orphan", "none")
	})
}

// A static pod of a new version waits until the one of that name has ended; of 300
// quick changes the last one runs, and no other is ever started (B-WRK-19, B-STA-6).
func TestStaticPodsOfOneName(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=3s")
		s.pods.Wanted(roster.File, staticPod("web", "0"))
		s.heard()
		s.wantPhase("web", v1.PodRunning)
		for i := range 300 {
			s.pods.Unwanted(roster.File, staticPod("web", fmt.Sprint(i)).UID)
			s.pods.Wanted(roster.File, staticPod("web", fmt.Sprint(i+1)))
			time.Sleep(time.Millisecond)
		}
		s.wantActed("RunPodSandbox web attempt=0", 1)
		s.settle()
		s.wantActed("RunPodSandbox web attempt=0", 2)
		pods := s.pods.Pods()
		assert.True(t, len(pods) == 1 && pods[0].UID == "web-300" && pods[0].Status.Phase == v1.PodRunning, "pods %v", pods)
	}, roster.File)
}

// A static pod whose file went and came back as it was runs again when it has ended (B-WRK-18, B-STA-7).
func TestStaticPodAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=3s")
		pod := staticPod("web", "1")
		s.pods.Wanted(roster.File, pod)
		s.heard()
		s.pods.Unwanted(roster.File, pod.UID)
		time.Sleep(time.Second)
		s.pods.Wanted(roster.File, pod)
		s.wantActed("RunPodSandbox web attempt=0", 1)
		s.settle()
		s.wantActed("RunPodSandbox web attempt=0", 2)
		s.wantPhase("web", v1.PodRunning)
		s.pods.Unwanted(roster.File, pod.UID)
		s.settle()
		s.wantPhase("web", "none")
	}, roster.File)
}

// A rejected pod is not tried again for as long as its object is there, which is
// removed when somebody asks for that (A-ADM-2, B-WRK-16).
func TestRejectedPod(t *testing.T) {
	tell(t, func(s *story) {
		pod := podOf("big", requesting("5"))
		s.begins(pod)
		status := s.status("uid-big")
		assert.True(t, status.Phase == v1.PodFailed && status.Reason == "OutOfcpu", "status %+v", status)
		s.node.Status.Allocatable = resources("64", "8Gi")
		s.node.Status.Allocatable[v1.ResourcePods] = *resourceOf(200)
		changed := pod.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		s.apply(changed)
		s.settle()
		s.wantPhase("big", v1.PodFailed)
		s.deletes(s.deletes(changed, 30), 0)
		s.settle()
		assert.Deep(t, "deletions", []string{"big Failed"}, s.deletions())
		assert.Empty(t, s.Acted(), "calls")
	})
}

// The object of a pod that ends by itself stays, with its records; deleted, it is
// removed once and when nothing is left (B-DEL-11, B-DEL-13, B-FIN-11).
func TestFinalDelete(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "exit=0 after=1s")
		pod := podOf("job", never)
		s.begins(pod)
		s.wantPhase("job", v1.PodSucceeded)
		got := s.deletions()
		assert.True(t, len(got) == 0 && len(s.Left()) != 0, "before anybody asked: deletions %q, left %q", got, s.Left())
		pod = s.deletes(pod, 30)
		s.settle()
		s.deletes(pod, 10)
		s.settle()
		diff := cmp.Diff([]string{"job Succeeded"}, s.deletions())
		assert.True(t, diff == "" && len(s.Left()) == 0, "deletions (-want +got):\n%s left %q", diff, s.Left())
		s.pods.Unwanted(roster.API, pod.UID)
		s.wantPhase("job", "none")
	})
}

// A pod's object goes although the runtime can't remove the record of its sandbox
// yet; that is removed later, by another agent if need be (B-FIN-6, B-GC-4).
func TestDeletedBeforeItsRecord(t *testing.T) {
	for name, another := range map[string]bool{"by the same agent": false, "by another agent": true} {
		tellOf(t, name, func(t *testing.T, s *story) {
			s.Fault("fail RemovePodSandbox times=3")
			pod := podOf("web")
			s.begins(pod)
			s.deletes(pod, 1)
			s.settle()
			diff := cmp.Diff([]string{"web Failed"}, s.deletions())
			assert.Require(t, diff == "" && len(s.Left()) != 0, "deletions (-want +got):\n%s left %q", diff, s.Left())
			s.pods.Unwanted(roster.API, pod.UID)
			if another {
				s.stop()
				s.agent()
				s.heard()
			}
			time.Sleep(time.Minute)
			s.settle()
			assert.True(t, len(s.Left()) == 0 && len(s.pods.Views()) == 0 && len(s.deletions()) == 1,
				"left %q, %d pods, deletions %q", s.Left(), len(s.pods.Views()), s.deletions())
		})
	}
}

// Pods that come and go leave nothing behind (B-WRK-16).
func TestNothingIsLeftOfPods(t *testing.T) {
	tell(t, func(s *story) {
		s.heard()
		for i := range 100 {
			pod := podOf(fmt.Sprintf("p%d", i))
			s.apply(pod)
			s.settle()
			s.deletes(pod, 1)
			s.settle()
			s.pods.Unwanted(roster.API, pod.UID)
		}
		s.settle()
		assert.True(t, len(s.pods.Views()) == 0 && len(s.Left()) == 0 && len(s.deletions()) == 100,
			"%d pods, runtime %q, %d deletions", len(s.pods.Views()), s.Left(), len(s.deletions()))
		for _, folder := range []string{"pods", "logs", "links"} {
			entries, _ := os.ReadDir(filepath.Join(s.dir, folder))
			assert.True(t, len(entries) == 0, "%s has %v", folder, entries)
		}
		entries, err := os.ReadDir(s.memory().Dir)
		assert.True(t, err == nil && len(entries) == 1, "memory has %v, %v", entries, err) // the boot ID
	})
}

// What the node says of its health is true: a worker that stands still shows, and
// only that (A-SYNC-11).
func TestWorkerThatStandsStill(t *testing.T) {
	tell(t, func(s *story) {
		release := make(chan struct{})
		defer close(release)
		s.begins(podOf("good"), podOf("stuck"))
		if err := s.pods.Healthy(); err != nil {
			t.Fatalf("healthy pods: %v", err)
		}
		s.api.hang("stuck", release)
		s.Exit("stuck/main", 1)
		time.Sleep(Standstill - time.Minute)
		if err := s.pods.Healthy(); err != nil {
			t.Fatalf("before its time: %v", err)
		}
		time.Sleep(2 * time.Minute)
		err := s.pods.Healthy()
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "pod default/stuck has not been gone on with for "), "got %v", err)
	})
}
