package pods

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

func resourceOf(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// A critical pod for which there is no room has others end, all at once and each
// with its own grace, and begins when they have (B-PRE-2).
func TestPreemption(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=ignore")
		graceful := func(seconds int64) func(*v1.Pod) {
			return func(pod *v1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
		}
		s.begins(podOf("one", requesting("2"), graceful(10)), podOf("two", requesting("2"), graceful(20)))
		s.apply(podOf("important", requesting("4"), critical))
		s.settle()
		s.wantActed("StopContainer one/main timeout=10", 1)
		s.wantActed("StopContainer two/main timeout=20", 1)
		time.Sleep(8 * time.Second)
		s.wantPhase("one", v1.PodFailed)
		s.wantPhase("important", "")
		time.Sleep(10 * time.Second)
		s.wantPhase("two", v1.PodFailed)
		s.wantPhase("important", v1.PodRunning)
		want := []v1.ResourceName{"cpu", "cpu"} // each once (B-PRE-2)
		assert.True(t, slices.Equal(s.counts.preempted, want), "preemptions counted for %v, want %v", s.counts.preempted, want)
		status := s.status("uid-two")
		assert.True(t, status.Reason == "Preempting", "status %+v", status)
	})
}

// A pod that the scheduler has put in the place of one that was deleted by force
// begins when the containers of that one have ended: it is not refused.
func TestForceDeletedPodHoldsItsPlace(t *testing.T) {
	tell(t, func(s *story) {
		s.Program("main", "run term=3s")
		s.begins(podOf("old", requesting("4")))
		s.pods.Unwanted(roster.API, "uid-old")
		s.apply(podOf("new", requesting("4")), podOf("too-much", requesting("9")))
		time.Sleep(time.Second)
		s.wantPhase("new", "")
		s.wantPhase("too-much", v1.PodFailed)
		s.settle()
		s.wantPhase("new", v1.PodRunning)
	})
}

// A resize that was deferred is asked for again as soon as another pod has ended:
// of those that wait, in their order (A-ACT-15).
func TestDeferredResizes(t *testing.T) {
	tell(t, func(s *story) {
		late, early, holds := podOf("late", requesting("1")), podOf("early", requesting("1")), podOf("holds", requesting("2"))
		early.Spec.Priority = new(int32(10))
		s.begins(late, early, holds)
		for _, pod := range []*v1.Pod{late, early} {
			bigger := pod.DeepCopy()
			bigger.Generation = 2
			bigger.Spec.Containers[0].Resources.Requests = resources("3", "64Mi")
			s.apply(bigger)
			s.settle()
			if c := resizePending(s.status(pod.UID)); c == nil || c.Reason != v1.PodReasonDeferred {
				t.Fatalf("%s: %+v", pod.Name, s.status(pod.UID).Conditions)
			}
		}
		time.Sleep(time.Minute) // the next attempt of its own is far away
		s.deletes(holds, 1)
		s.settle()
		for name, want := range map[string]string{"early": "3", "late": "1"} {
			got := s.status(podOf(name).UID).ContainerStatuses[0].AllocatedResources.Cpu()
			assert.Equal(t, want, got.String(), "%s was allocated", name)
		}
	})
}

// A pod that only the Node's labels refuse is judged once more by the Node as the
// API server has it (A-ADM-4).
func TestLabelsAreReadAnew(t *testing.T) {
	for _, test := range []struct {
		name  string
		label string
		err   error
		want  v1.PodPhase
	}{
		{"the label has come", "ssd", nil, v1.PodRunning},
		{"it has not", "hdd", nil, v1.PodFailed},
		{"the API server is away", "", errors.New("away"), v1.PodFailed},
	} {
		tellOf(t, test.name, func(t *testing.T, s *story) {
			s.stop()
			s.freshly = func(context.Context) (*v1.Node, error) {
				node := s.node.DeepCopy()
				node.Labels = map[string]string{"disk": test.label}
				return node, test.err
			}
			s.agent()
			s.begins(podOf("web", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} }))
			s.wantPhase("web", test.want)
		})
	}
}

// A panic is its pod's alone, also in what is done beside its worker: the others go
// on, and it goes on from where it was, or leaves if it was removed meanwhile.
func TestPanicIsOnePods(t *testing.T) {
	tell(t, func(s *story) {
		s.cgroups.panics = map[types.UID]int{"uid-bad": 1, "uid-removed": 1}
		s.begins(podOf("bad"), podOf("good"), podOf("removed"))
		s.wantPhase("good", v1.PodRunning)
		assert.Require(t, s.phase("bad") != v1.PodRunning, "the pod whose worker panicked runs")
		s.pods.Unwanted(roster.API, "uid-removed")
		time.Sleep(10 * time.Second) // it is left alone
		s.settle()
		s.wantPhase("bad", v1.PodRunning)
		s.wantPhase("removed", "none")
		calls := s.Acted()
		assert.True(t, !slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "StartContainer removed") }), "calls %q", calls)
	})
}

// A pod that can't be remembered runs all the same, and the node is not healthy. When
// there is room it is remembered, although nothing happens to it (B-RST-9, A-SYNC-11).
func TestDiskIsFull(t *testing.T) {
	tell(t, func(s *story) {
		dir := s.memory().Dir
		assert.Must(t, os.RemoveAll(dir))
		assert.Must(t, os.WriteFile(dir, nil, 0o600)) // nothing can be written below it
		s.begins(podOf("web"))
		s.wantPhase("web", v1.PodRunning)
		time.Sleep(time.Hour)
		if err := s.pods.Healthy(); err == nil || !strings.HasPrefix(err.Error(), "the state of pod default/web can't be saved: remember the pod: ") {
			t.Errorf("on a full disk: %v", err)
		}
		assert.Must(t, os.Remove(dir))
		time.Sleep(time.Minute)
		assert.NoError(t, s.pods.Healthy(), "with room again")
		kept := s.memory().Pods()
		assert.True(t, len(kept) == 1 && kept[0].Pod.Name == "web", "remembered: %v", kept)
		s.deletes(podOf("web"), 1)
		s.settle()
		got := s.deletions()
		assert.True(t, len(got) == 1, "deletions %q", got)
	})
}

// resizePending is the condition PodResizePending; nil if there is none.
func resizePending(status v1.PodStatus) *v1.PodCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == v1.PodResizePending {
			return &status.Conditions[i]
		}
	}
	return nil
}
