package worker

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Whatever becomes of one call, the pod reaches its goal: it runs, its container
// is restarted, and after a stop nothing is left. Nothing ever runs twice
// (newStory looks). Another pod of the node keeps its pace meanwhile.
func TestOneCallGoesWrong(t *testing.T) {
	const (
		usual = 1140 * time.Millisecond  // until the second instance runs
		ends  = 140 * time.Millisecond   // from the stop until the pod is gone
		retry = 10050 * time.Millisecond // Options.RetryAfter, and the failed call
		again = 1100 * time.Millisecond  // a snapshot and a new try, Options.UnavailableRetry apart
		call  = 2 * time.Minute          // Timeouts.Call
		box   = 4 * time.Minute          // Timeouts.Sandbox
		stop  = call + 30*time.Second
	)
	for _, test := range []struct {
		fault           string
		restarted, gone time.Duration // at the latest
	}{
		{"fail RunPodSandbox web", retry + usual, ends},
		{"fail RunPodSandbox web code=Unavailable", again + usual, ends},
		{"fail RunPodSandbox web code=DeadlineExceeded", again + usual, ends},
		{"carry-out-then-fail RunPodSandbox web", retry + usual + ends, ends}, // what it made goes first
		{"carry-out-then-fail RunPodSandbox web code=Unavailable", again + usual, ends},
		{"hang RunPodSandbox web", box + again + usual, ends},
		{"carry-out-then-hang RunPodSandbox web", box + again + usual, ends},
		{"carry-out-late RunPodSandbox web by=239s", box + again + usual, ends},
		{"carry-out-late RunPodSandbox web by=250s", box + again + usual, ends},
		{"fail PodSandboxStatus web", again + usual, ends},
		{"hang PodSandboxStatus web", box + again + usual, ends},

		{"fail ImageStatus " + image, retry + usual, ends},
		{"hang ImageStatus " + image, call + again + usual, ends},

		{"fail CreateContainer web", retry + usual, ends},
		{"fail CreateContainer web#2", retry + usual, ends},
		{"fail CreateContainer web code=Unavailable", again + usual, ends},
		{"carry-out-then-fail CreateContainer web code=Unavailable", again + usual, ends},
		{"carry-out-then-fail CreateContainer web#2 code=Unavailable", again + usual, ends},
		{"hang CreateContainer web", call + again + usual, ends},
		{"hang CreateContainer web#2", call + again + usual, ends},
		{"carry-out-then-hang CreateContainer web", call + again + usual, ends},
		{"carry-out-late CreateContainer web by=119s", call + again + usual, ends},
		{"carry-out-late CreateContainer web by=130s", call + retry + again + usual, ends},

		{"fail StartContainer web", retry + usual, ends},
		{"fail StartContainer web#2", retry + usual, ends},
		{"fail StartContainer web code=Unavailable", again + usual, ends},
		{"carry-out-then-fail StartContainer web code=Unavailable", usual, ends},
		{"hang StartContainer web", call + again + usual, ends},
		{"hang StartContainer web#2", call + again + usual, ends},
		{"carry-out-then-hang StartContainer web", usual, ends},
		{"carry-out-late StartContainer web by=119s", call + again + usual, ends},
		{"carry-out-late StartContainer web by=130s", call + again + usual, ends},

		{"fail ListPodSandbox", usual, ends},
		{"fail ListContainers", usual, ends},
		{"fail ContainerStatus web", usual, ends},
		{"hang ListPodSandbox times=5", usual, ends},
		{"hang ListContainers times=5", usual, ends},
		{"hang ContainerStatus web times=5", usual, ends},

		{"fail StopContainer web", usual, retry + 2*ends},
		{"fail StopContainer web code=Unavailable", usual, again + ends},
		{"hang StopContainer web", usual, stop + again + ends},
		{"carry-out-then-fail StopContainer web", usual, ends},
		{"carry-out-then-hang StopContainer web", usual, ends},
		{"fail StopPodSandbox web", usual, retry + 2*ends},
		{"hang StopPodSandbox web", usual, call + again + ends},
		{"carry-out-then-fail StopPodSandbox web", usual, retry + 2*ends},
		{"carry-out-then-hang StopPodSandbox web", usual, call + again + ends},
		{"fail RemovePodSandbox web", usual, retry + 2*ends},
		{"hang RemovePodSandbox web", usual, call + again + ends},
		{"carry-out-then-fail RemovePodSandbox web", usual, retry + 2*ends},
		{"carry-out-then-hang RemovePodSandbox web", usual, call + again + ends},
		{"fail RemoveContainer web", usual, ends},
		{"hang RemoveContainer web", usual, ends},
	} {
		storyOf(t, strings.ReplaceAll(test.fault, " ", "_"), func(t *testing.T, s *story) {
			s.Program("main", "exit=1 after=1s")
			s.Program("web/main", "exit=1 after=1s", "exit=1 after=1s", "run")
			web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
			other := podOf("other", v1.RestartPolicyAlways, "main")
			other.Spec.Containers[0].Image = otherImage
			assert.Equal(t, usual, s.run(other).await("restarted", restarts(1)), "the other pod restarted after")
			at := web.await("restarted", restarts(1))
			assert.True(t, at <= test.restarted, "restarted after %v, want %v at the latest", at, test.restarted)
			web.await("restarted twice", restarts(2))
			time.Sleep(time.Minute) // several snapshots
			asked := s.elapsed()
			web.stop(30)
			took := web.gone() - asked
			assert.True(t, took <= test.gone, "gone after %v, want %v at the latest", took, test.gone)
			left := slices.DeleteFunc(s.Left(), func(text string) bool { return strings.Contains(text, "other") })
			assert.True(t, len(left) == 0, "left behind: %q; calls %q", left, s.Acted())
		}, test.fault)
	}
}

// A call that is refused shows the reason that Kubernetes shows, and the pod
// gets over it.
func TestRefusedCallShowsItsReason(t *testing.T) {
	for _, test := range []struct {
		fault, waiting, event string
	}{
		{"fail ImageStatus", "ImageInspectError", "InspectFailed"},
		{"fail CreateContainer", "CreateContainerError", "Failed"},
		{"fail StartContainer", "RunContainerError", "Failed"},
		{"fail PullImage times=2", "ErrImagePull", "Failed"},
		{"fail PullImage times=2", "ImagePullBackOff", "BackOff"},
		{"fail PullImage message=RegistryUnavailable:_no_route", "RegistryUnavailable", "Failed"},
		{"fail RunPodSandbox", "ContainerCreating", "FailedCreatePodSandBox"},
	} {
		storyOf(t, test.fault+" "+test.waiting, func(t *testing.T, s *story) {
			pod := podOf("web", v1.RestartPolicyAlways, "main")
			if strings.Contains(test.fault, "PullImage") {
				pod.Spec.Containers[0].Image = "example.org/absent:1"
			}
			web := s.run(pod)
			web.await("waiting with "+test.waiting, waitingFor(test.waiting))
			web.await("running", running)
			events := slices.Concat(web.reasons(v1.EventTypeWarning), web.reasons(v1.EventTypeNormal))
			assert.True(t, slices.Contains(events, test.event), "Events %q, want %s among them", events, test.event)
		}, test.fault)
	}
}

// What cannot be started is an exit with StartError, and is restarted as such (A-CST-9).
func TestStartError(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Program("main", "start-error=exec:_no_such_file")
		web := s.run(podOf("web", v1.RestartPolicyNever, "main"))
		web.await("failed", func(s v1.PodStatus) bool { return s.Phase == v1.PodFailed })
		web.gone()
		end := web.last().ContainerStatuses[0].State.Terminated
		assert.True(t, end != nil && end.Reason == "StartError" && end.ExitCode == 128 && strings.Contains(end.Message, "exec: no such file"),
			"ended as %+v, want StartError, 128 and the runtime's words", end)
	})
}

// A runtime that is away for a while loses no container, and life goes on afterwards.
func TestRuntimeGoesAway(t *testing.T) {
	const away = 3 * time.Second
	for _, test := range []struct {
		name    string
		program string
		at      time.Duration // when the runtime goes down
		again   time.Duration // when the next instance runs, at the latest
	}{
		{"while it runs", "exit=1 after=10s", 5 * time.Second, 10140 * time.Millisecond},
		{"when it exits", "exit=1 after=6s", 5 * time.Second, 8*time.Second + time.Second},
		{"while its sandbox is made", "exit=1 after=1s", 60 * time.Millisecond, away + 2500*time.Millisecond},
		{"while it is started", "exit=1 after=1s", 100 * time.Millisecond, away + 2500*time.Millisecond},
	} {
		storyOf(t, test.name, func(t *testing.T, s *story) {
			s.Program("main", test.program, "run")
			web := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
			time.Sleep(test.at)
			s.GoDown(away)
			at := web.await("restarted", restarts(1))
			assert.True(t, at <= test.again, "restarted at %v, want %v at the latest", at, test.again)
			time.Sleep(time.Minute)
			status := web.last().ContainerStatuses[0]
			assert.True(t, status.RestartCount == 1 && status.State.Running != nil, "a minute later: %+v, want it running and restarted once", status)
			web.ends(30)
			assert.Empty(t, s.Left(), "left behind")
		})
	}
}
