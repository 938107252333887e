package pods

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

// inhibitor is a pretended lock of systemd-logind's.
type inhibitor struct {
	mu     sync.Mutex
	called []string
	at     time.Time // of the last call
}

func (i *inhibitor) note(call string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.called, i.at = append(i.called, call), time.Now()
}

func (i *inhibitor) Announce(cancelled bool) {
	if cancelled {
		i.note("cancelled")
		return
	}
	i.note("announced")
}
func (i *inhibitor) Release() { i.note("released") }
func (i *inhibitor) Take()    { i.note("taken") }

// has wants those calls, and returns when the last one was.
func (i *inhibitor) has(t *testing.T, want ...string) time.Time {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	diff := cmp.Diff(want, i.called)
	assert.Require(t, diff == "", "calls (-want +got):\n%s", diff)
	return i.at
}

func withGrace(seconds int64) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

// When the machine shuts down, pods end group after group as soon as they can, with the
// statuses and the sidecar order of Kubernetes; the machine goes down when the API server has
// the last status (B-SHD-4, B-SHD-5, B-SIDE-2).
func TestShutdown(t *testing.T) {
	tell(t, func(s *story) {
		s.stop()
		s.periods, s.slow = []roster.Period{{GraceSeconds: 20}, {Priority: 2_000_000_000, GraceSeconds: 10}}, time.Second
		s.Program("main", "run term=3s")
		s.Program("stubborn/main", "run term=ignore")
		s.agent()
		sidecar := func(pod *v1.Pod) {
			side := pod.Spec.Containers[0]
			side.Name, side.RestartPolicy = "side", new(v1.ContainerRestartPolicyAlways)
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, side)
		}
		s.begins(podOf("web", sidecar), podOf("stubborn", withGrace(8)), podOf("dns", critical))
		before := len(s.Acted())
		began := time.Now()
		s.pods.ShutdownBegan()
		time.Sleep(6 * time.Second)
		web := s.status("uid-web")
		assert.True(t, web.Phase == v1.PodFailed, "after 6s web is %s, calls %q", web.Phase, s.Acted()[before:])
		s.wantActed("StopContainer dns/main timeout=10", 0) // its group waits (B-SHD-4)
		time.Sleep(5 * time.Second)
		s.wantActed("StopContainer dns/main timeout=10", 1)
		time.Sleep(10 * time.Second)
		released := s.inhibits.has(t, "announced", "released")
		took := released.Sub(began) // 8 of stubborn's, 3 of dns', 1 for the reports
		assert.True(t, took >= 12*time.Second && took <= 13*time.Second, "the machine was held up for %s", took)
		for _, name := range []string{"web", "stubborn", "dns"} {
			s.wantTerminated(name)
		}
		stops := slices.DeleteFunc(s.Acted()[before:], func(call string) bool { return !strings.HasPrefix(call, "StopContainer") })
		slices.Sort(stops[:2]) // of one group, at the same time
		want := []string{
			"StopContainer stubborn/main timeout=8", "StopContainer web/main timeout=20", "StopContainer web/side timeout=17", "StopContainer dns/main timeout=10",
		}
		assert.Deep(t, "stops", want, stops)
		assert.True(t, !slices.ContainsFunc(s.events(), func(e string) bool { return strings.HasSuffix(e, " Terminated") }), "an event tells of the reason: %q", s.events()) // B-SHD-5
	})
}

// wantTerminated wants the status of a pod that a shutdown has ended (B-SHD-5).
func (s *story) wantTerminated(name string) {
	s.Helper()
	const message = "Pod was terminated in response to imminent node shutdown."
	pod, _ := s.pods.Pod("default", name)
	got := pod.Status
	assert.True(s, got.Phase == v1.PodFailed && got.Reason == "Terminated" && got.Message == message,
		"%s is %s, reason %q, message %q", name, got.Phase, got.Reason, got.Message)
	i := slices.IndexFunc(got.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
	assert.True(s, i >= 0 && got.Conditions[i].Status == v1.ConditionTrue && got.Conditions[i].Reason == "TerminationByKubelet" && got.Conditions[i].Message == message,
		"%s has conditions %+v", name, got.Conditions)
}

// A pod that ends already keeps its earlier deadline, and one that had succeeded its phase;
// new pods are rejected (B-SHD-2, B-SHD-5). After a cancellation they begin again, and what
// runs goes on; a static pod that was ended stays so (B-SHD-2).
func TestShutdownOfWhatEnds(t *testing.T) {
	tell(t, func(s *story) {
		s.stop()
		s.periods = []roster.Period{{GraceSeconds: 20}, {Priority: 2_000_000_000, GraceSeconds: 60}}
		s.Program("main", "run term=ignore")
		s.Program("done/main", "exit=0 after=1s")
		s.agent()
		goes := podOf("goes", withGrace(15))
		s.apply(goes, podOf("done", never), podOf("dns", critical, withGrace(50)))
		s.pods.Wanted(roster.File, staticPod("static", "1"))
		s.heard()
		s.wantPhase("done", v1.PodSucceeded)
		s.deletes(goes, 15)
		time.Sleep(5 * time.Second)
		s.pods.ShutdownBegan()
		time.Sleep(time.Second)
		late := podOf("late")
		s.apply(late)
		s.settle()
		got := s.status("uid-late")
		assert.True(t, got.Phase == v1.PodFailed && got.Reason == "NodeShutdown" &&
			got.Message == "Pod was rejected: Pod was rejected as the node is shutting down.", "a new pod is %s, reason %q, message %q", got.Phase, got.Reason, got.Message)
		time.Sleep(5 * time.Second)
		if deleted := s.deletions(); len(deleted) != 1 || deleted[0] != "goes Failed" {
			t.Errorf("after what was left of its grace: deletions %q", deleted) // its earlier deadline (B-WRK-9)
		}
		s.wantPhase("done", v1.PodSucceeded)
		s.pods.ShutdownCancelled()
		s.settle()
		s.inhibits.has(t, "announced", "cancelled", "taken")
		s.apply(podOf("new"))
		time.Sleep(time.Minute)
		s.wantPhase("new", v1.PodRunning)
		s.wantPhase("dns", v1.PodRunning)
		s.wantPhase("static", v1.PodFailed)
	}, roster.API, roster.File)
}

// What a shutdown has ended is not continued after it: pods of the API stay as they are, and
// static pods begin anew (B-SHD-5, B-SHD-6, B-RST-12). A pod whose machine lost its power
// goes on when the API was heard (B-RST-21).
func TestRebootAfterShutdown(t *testing.T) {
	tell(t, func(s *story) {
		s.stop()
		s.periods = []roster.Period{{GraceSeconds: 2}}
		s.Program("slow/main", "run term=ignore")
		s.agent()
		s.apply(podOf("web"), podOf("slow"))
		s.pods.Wanted(roster.File, staticPod("static", "1"))
		s.heard()
		s.pods.ShutdownBegan()
		time.Sleep(time.Second) // web has ended, and the power goes before slow has
		synced := s.status("uid-web")
		assert.Require(t, synced.Phase == v1.PodFailed, "web is %s", synced.Phase)
		s.reboot()
		for range 3 { // however often the agent begins
			s.agent()
			s.pods.Wanted(roster.File, staticPod("static", "1"))
			s.pods.Heard(roster.File)
			s.settle()
			assert.Empty(t, slices.DeleteFunc(s.Acted(), func(c string) bool { return strings.Contains(c, " static") }), "before the API was heard")
			s.wantPhase("static", v1.PodRunning)
			s.stop()
		}
		s.agent()
		web := podOf("web")
		web.Status = synced
		s.apply(web, podOf("slow"))
		s.pods.Wanted(roster.File, staticPod("static", "1"))
		s.heard()
		time.Sleep(time.Minute)
		s.wantPhase("web", v1.PodFailed)
		assert.True(t, s.acted("RunPodSandbox web") == 0, "web was started again: %q", s.Acted())
		s.wantPhase("static", v1.PodRunning)
	}, roster.API, roster.File)
}

// reboot starts the machine anew: the runtime has nothing, and the boot ID is another.
func (s *story) reboot() {
	s.stop()
	s.Runtime = crifake.New(image)
	assert.Must(s, os.WriteFile(filepath.Join(s.memory().Dir, BootFile), []byte("another"), 0o600))
}
