package worker

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func execProbe(period int32, command ...string) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: command}},
		PeriodSeconds: period, TimeoutSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1,
	}
}

// when is how long after the story's start the calls began that read so.
func (s *story) when(text string) (all []time.Duration) {
	for _, c := range s.Calls() {
		if c.String() == text {
			all = append(all, c.At.Sub(s.start).Round(time.Second))
		}
	}
	return all
}

// TestLivenessProbe: A-PROBE-2, A-PROBE-14: attempts come at their period, by the
// moment, and the third failure in a row ends the container.
func TestLivenessProbe(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Command("main", "exit=1 out=sick", "hang", "exit=1 out=sick", "out=fine")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].LivenessProbe = execProbe(10, "alive")
		web := s.run(pod)
		web.await("restarted", restarts(1))
		assert.Deep(t, "probed at", []time.Duration{0, 10 * time.Second, 20 * time.Second}, s.when("ExecSync web/main alive")[:3])
		assert.Deep(t, "stopped at", []time.Duration{20 * time.Second}, s.when("StopContainer web/main timeout=30"))
		var messages []string
		for _, e := range web.recorded {
			if e.Reason == "Unhealthy" || e.Reason == "Killing" {
				messages = append(messages, e.Message)
			}
		}
		want := []string{
			"Liveness probe failed: sick", `Liveness probe failed: command timed out: "alive" timed out after 1s`, "Liveness probe failed: sick",
			"Container main failed liveness probe, will be restarted",
		}
		assert.Deep(t, "events", want, messages)
	})
}

// TestProbeErrors: A-PROBE-7: an attempt that can't be made is made again at
// once, and counts for nothing.
func TestProbeErrors(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Command("main", "error=no_such_file", "error=no_such_file", "error=no_such_file", "out=fine")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ReadinessProbe = execProbe(10, "ready")
		web := s.run(pod)
		at := web.await("ready", func(s v1.PodStatus) bool { return len(s.ContainerStatuses) > 0 && s.ContainerStatuses[0].Ready })
		assert.Equal(t, 10*time.Second, at.Round(time.Second), "ready after")
		got := s.when("ExecSync web/main ready")
		assert.True(t, slices.Equal(got, []time.Duration{0, 0, 0, 10 * time.Second}), "probed at %v", got)
		if got := web.reasons(v1.EventTypeWarning); !slices.Equal(got, []string{"DNSConfigForming", "Unhealthy"}) {
			t.Errorf("warnings %q", got)
		}
	})
}

// TestProbeEndsWithPod: an attempt under way holds up nothing.
func TestProbeEndsWithPod(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Command("main", "hang")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].ReadinessProbe = execProbe(10, "ready")
		pod.Spec.Containers[0].ReadinessProbe.TimeoutSeconds = 3600
		web := s.run(pod)
		s.awaitCall("ExecSync web/main ready")
		web.await("running", running)
		asked := s.elapsed()
		web.stop(30)
		took := web.gone() - asked
		assert.True(t, took <= time.Second, "gone after %v", took)
	})
}

func execHook(command ...string) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: command}}
}

// TestPreStop: B-HOOK-2, B-HOOK-3, B-HOOK-6: the stop signal comes when the hook
// has ended, at the latest when the grace has; what is left of it is the time
// until the kill, but two seconds at least.
func TestPreStop(t *testing.T) {
	for _, tc := range []struct {
		name, program, hook string
		stop                string
		gone                time.Duration // after the stop
	}{
		{"ends", "run", "after=4s", "StopContainer web/main timeout=6", 4 * time.Second},
		{"hangs", "term=ignore", "hang", "StopContainer web/main timeout=2", 12 * time.Second},
		{"fails", "run", "exit=1", "StopContainer web/main timeout=10", 0},
	} {
		storyOf(t, tc.name, func(t *testing.T, s *story) {
			s.Program("main", tc.program)
			s.Command("main", tc.hook)
			pod := podOf("web", v1.RestartPolicyNever, "main")
			pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: execHook("drain")}
			web := s.running(pod)
			asked := s.elapsed()
			web.stop(10)
			assert.Equal(t, tc.gone, (web.gone() - asked).Round(time.Second), "gone after")
			acted := s.Acted()
			assert.True(t, slices.Contains(acted, tc.stop), "calls %q, want %q", acted, tc.stop)
		})
	}
}

// TestPostStartFails: A-HOOK-1: the waiting reason says why.
func TestPostStartFails(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Command("main", "exit=2 err=cold")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: execHook("warm", "up")}
		web := s.run(pod)
		var got string
		web.await("waiting", func(s v1.PodStatus) bool {
			if waitingFor("PostStartHookError")(s) {
				got = s.ContainerStatuses[0].State.Waiting.Message
			}
			return got != ""
		})
		want := `Exec lifecycle hook ([warm up]) for Container "main" in Pod "web_default(uid-web)" failed - error: command 'warm up' exited with 2: cold, message: "cold"`
		assert.Equal(t, want, got, "waiting")
	})
}
