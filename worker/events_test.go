package worker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
)

// What goes wrong with events costs time at most: the pod's life is the same (A-PLEG-4, A-PLEG-7, A-PLEG-8).
func TestEventsGoWrong(t *testing.T) {
	const usual = 1140 * time.Millisecond
	for _, test := range []struct {
		fault     string
		restarted time.Duration
	}{
		{"double STARTED main", usual},
		{"double STOPPED main", usual},
		{"double STOPPED main times=3", usual},
		{"lose STARTED main", usual + 20*time.Millisecond}, // StartContainer's answer says it, too
		{"delay STARTED main by=3s", usual},                // old news when it comes
		{"delay STOPPED main by=3s", usual + 3*time.Second},
		{"lose STOPPED main", usual + 10*time.Second}, // the snapshot finds it
		{"drop STOPPED main", usual + 2*time.Second},  // snapshots until the stream has proven itself again
		{"drop STARTED main#2", usual + 50*time.Millisecond},
		{"slow StartContainer web by=500ms", usual}, // running is known from the event
		{"slow StartContainer web by=3s", usual},    // so is its exit, before the answer
		{"slow CreateContainer web by=500ms", usual + 500*time.Millisecond},
		{"slow RunPodSandbox web by=500ms", usual + 500*time.Millisecond},
	} {
		storyOf(t, strings.ReplaceAll(test.fault, " ", "_"), func(t *testing.T, s *story) {
			s.Program("main", "exit=3 after=1s", "run")
			web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
			at := web.await("restarted", restarts(1))
			assert.True(t, at <= test.restarted, "restarted after %v, want %v at the latest", at, test.restarted)
			time.Sleep(time.Minute)
			status := web.last().ContainerStatuses[0]
			end := status.LastTerminationState.Terminated
			assert.True(t, end != nil && end.ExitCode == 3 && end.Reason == "Error", "last state %+v, want exit code 3", end)
			assert.True(t, status.RestartCount == 1 && status.State.Running != nil, "a minute later %+v, want it running and restarted once", status)
			want := []string{
				"RunPodSandbox web attempt=0",
				"CreateContainer web/main attempt=0", "StartContainer web/main",
				"CreateContainer web/main attempt=1", "StartContainer web/main",
			}
			assert.Deep(t, "calls", want, s.Acted())
		}, test.fault)
	}
}

// A process that ends before StartContainer has answered did run.
func TestExitBeforeStartIsAnswered(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Program("main", "exit=0")
		web := s.run(podOf("job", v1.RestartPolicyNever, "main"))
		web.gone()
		status := web.last()
		assert.Equal(t, v1.PodSucceeded, status.Phase, "phase")
		assert.Deep(t, "Events", []string{"Pulled", "Created", "Started"}, web.reasons(v1.EventTypeNormal))
	})
}

// A sandbox that ends unasked is replaced, and its pod's containers run again.
func TestSandboxEnds(t *testing.T) {
	for _, fault := range []string{"double STOPPED absent", "lose STOPPED web"} {
		storyOf(t, fault, func(t *testing.T, s *story) {
			web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
			s.Fault(fault)
			time.Sleep(time.Second)
			s.EndSandbox("web")
			at := web.await("restarted", restarts(1))
			assert.True(t, at <= 12*time.Second, "restarted after %v, want at most a snapshot's delay", at)
			time.Sleep(time.Minute)
			assert.Deep(t, "what there is", []string{"sandbox web attempt=1 ready", "web/main attempt=1 running"}, s.Left())
		})
	}
}

// snapshots counts the snapshots that began in a span of the story.
func (s *story) snapshots(from, to time.Duration) int {
	n := 0
	for _, c := range s.Calls() {
		if at := c.At.Sub(s.start); c.RPC == "ListPodSandbox" && at >= from && at < to {
			n++
		}
	}
	return n
}

// Without a stream of events, snapshots take their place.
func TestNoStream(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Fault("fail GetContainerEvents code=Unimplemented times=1000")
		s.BreakStreams()
		s.Program("main", "exit=1 after=5s", "run")
		web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		at, limit := web.await("restarted", restarts(1)), 6*time.Second
		assert.True(t, at <= limit, "restarted after %v, want %v at the latest", at, limit)
	})
}

// A stream that broke while nothing happened is not looked after for ever:
// snapshots become rare, until an event proves the stream.
func TestQuietStreamIsTrustedInTheEnd(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
		time.Sleep(time.Minute)
		s.BreakStreams()
		broken := s.elapsed()
		time.Sleep(time.Minute)
		n := s.snapshots(broken, broken+time.Second)
		assert.True(t, n >= 3, "%d snapshots in the first second, want several", n)
		n = s.snapshots(broken+30*time.Second, broken+time.Minute)
		assert.True(t, n <= 6, "%d snapshots in half a minute later on, want hardly more than usual", n)
		exited := s.elapsed()
		s.Exit("web/main", 1)
		assert.Equal(t, 25*time.Millisecond, web.await("restarted", restarts(1))-exited, "restarted after")
	})
}

// A runtime that does not answer is not asked ever more.
func TestSnapshotsDoNotPileUp(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.running(podOf("web", v1.RestartPolicyAlways, "main"))
		s.Fault("hang ListPodSandbox times=100000", "fail GetContainerEvents times=100000")
		s.BreakStreams()
		time.Sleep(time.Minute)
		underWay := 0
		for _, c := range s.Calls() {
			if c.RPC == "ListPodSandbox" && c.Took == 0 {
				underWay++
			}
		}
		assert.True(t, underWay <= 2, "%d lists are under way at once, want one of the pod and one of all", underWay)
	})
}

// Of a pod that only runs nothing is asked by itself; what events don't tell of it
// is found all the same, within the same time (A-PLEG-4).
func TestQuietPodIsOnlyGlancedAt(t *testing.T) {
	for _, fault := range []string{"lose STOPPED main", "lose STOPPED web"} {
		storyOf(t, fault, func(t *testing.T, s *story) {
			web := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
			time.Sleep(time.Minute)
			before := s.calls("ContainerStatus", "PodSandboxStatus")
			time.Sleep(10 * time.Minute)
			more := s.calls("ContainerStatus", "PodSandboxStatus") - before
			assert.True(t, more <= 0, "%d questions about a pod to which nothing happens", more)
			s.Fault(fault)
			ended := s.elapsed()
			if fault == "lose STOPPED main" {
				s.Exit("web/main", 1)
			} else {
				s.EndSandbox("web")
			}
			took := web.await("restarted", restarts(1)) - ended
			assert.True(t, took <= 11*time.Second, "restarted after %v, want at most a relist's delay", took)
		})
	}
}

// calls counts those of the runtime by name.
func (s *story) calls(names ...string) int {
	n := 0
	for _, c := range s.Calls() {
		if slices.Contains(names, c.RPC) {
			n++
		}
	}
	return n
}

// Who asks is told of pods that the runtime has and no worker, once two looks have seen them so; a look that failed is none (B-WRK-21).
func TestPodsWithoutWorker(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.end() // its events have no WithoutWorker
		ctx, cancel := context.WithCancel(context.Background())
		events := s.node.Events(nil)
		calls := map[types.UID]time.Duration{}
		events.WithoutWorker = func(_ context.Context, uids []types.UID) {
			for _, uid := range uids {
				calls[uid] = time.Since(s.start)
			}
		}
		s.wait.Go(func() { events.Run(ctx) })
		defer func() {
			cancel()
			s.wait.Wait()
		}()
		for _, name := range []string{"unknown", "known"} {
			assert.Must(t, assert.ErrorOf(s.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
				Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Uid: name}, Labels: map[string]string{cri.PodUIDLabel: name},
			}})))
		}
		events.Add(s.node.NewWorker(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "known"}}, nil))
		s.Fault("fail ListContainers times=3")
		time.Sleep(time.Minute)
		assert.True(t, len(calls) == 1 && calls["unknown"] != 0, "told of %v, want the unknown one alone", calls)
	})
}
