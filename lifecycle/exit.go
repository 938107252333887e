package lifecycle

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apply files an exit, whether it comes from the event stream, even before
// the answer of StartContainer, or from a snapshot.
func (f ContainerExited) apply(s *step) {
	c := s.containerWithID(f.ContainerID)
	if c == nil || c.Exit != nil {
		return // also while the next instance is being created: the ID is still the old one's
	}
	switch {
	case c.Position == starting:
		startedBeforeAnswer(s, c, f)
	case c.Failure != nil && c.Failure.Class == Uncertain && !neverBegan(f):
		c.Failure = nil // the start without an answer worked
	}
	settleExit(s, c, terminatedBy(s, f))
}

// terminatedBy is an exit as a status shows it.
func terminatedBy(s *step, f ContainerExited) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode:    f.ExitCode,
		Reason:      f.Reason,
		Message:     f.Message,
		StartedAt:   metav1.NewTime(f.StartedAt),
		FinishedAt:  metav1.NewTime(f.FinishedAt),
		ContainerID: containerID(&s.options, f.ContainerID),
	}
}

// startedBeforeAnswer files the start of a process that ended before StartContainer was
// answered. It did start, unless the runtime says that it could not (A-CST-7, A-CST-9,
// A-EVT-2).
func startedBeforeAnswer(s *step, c *container, f ContainerExited) {
	if neverBegan(f) {
		startRefused(s, c, &Failure{Message: f.Message}, "RunContainerError")
		return
	}
	nowRunning(s, c)
}

// neverBegan says whether the runtime could not start the process (A-CST-9).
func neverBegan(f ContainerExited) bool {
	return f.Reason == reasonStartError || f.Reason == "ContainerCannotRun"
}

// settleExit moves a container to exited and decides, once, what follows.
func settleExit(s *step, c *container, t *v1.ContainerStateTerminated) {
	c.Asked = c.Ending && (c.Kill == nil || !cameTooLate(s, c.Kill, t))
	askImagesAnew(s, c)
	c.Position, c.op, c.Exit, c.EndedAt = exited, 0, t, earlier(s.own(t.FinishedAt.Time), s.now)
	if c.EndedAt.IsZero() {
		c.EndedAt = s.now // otherwise a container whose record is lost would have no back-off
	}
	endHooks(s, c)
	endProbes(s, c)
	killed := killing(s, c, t)
	c.Ending, c.stopping, c.RetryAt = false, stopping{}, time.Time{}
	c.touchedAt = s.now
	c.Verdict = verdictAtExit(s, c, t)
	if c.Failure != nil && c.Failure.Reason == reasonPostStartError && !s.restartAll.Active {
		c.Verdict.Because.Failed = postStartHook
	}
	c.Failures++
	if c.succeeded(t) {
		c.Failures = 0
	}
	report := Report{Subject: c.spec.Name, Kind: KindExited, Code: t.ExitCode, Reason: t.Reason, Because: c.Verdict.Because, Killed: killed, Rule: c.Verdict.Rule}
	switch {
	case !c.Verdict.Restart && !c.Verdict.Complete && c.Asked && c.Kill == nil:
		report.Because = Because{Kind: BecauseStopped}
	case c.Verdict.Complete:
		report.Outcome = "counts-as-success"
	case c.Verdict.Terminate:
		report.Outcome = ThenPodFails
	case c.Verdict.Restart:
		backOffAfterExit(s, c, &report)
	case s.kept.Stage == Syncing && c.kind == initContainer && !c.done():
		report.Outcome = ThenPodFails
	case s.kept.Stage == Syncing && !c.succeeded(t):
		report.Outcome = "not-restarted"
	}
	tell(s, report)
}

// killing says why a stopped container was killed if it did not end by itself (B-SIG-4).
// In a restart of all containers that is obvious.
func killing(s *step, c *container, t *v1.ContainerStateTerminated) Killing {
	const sigkill = 128 + 9
	byRuntime := t.ExitCode == sigkill && (t.Reason == "" || t.Reason == "Error") // neither for lack of memory nor lost
	if killAt := c.stopping.killAt; !c.Asked || !byRuntime || s.restartAll.Active || killAt.IsZero() || c.EndedAt.Before(killAt) {
		return ""
	}
	if s.orderFor(c).force {
		return KilledAtOnce
	}
	return KilledAfterGrace
}

// crashLoopBackOff is the waiting reason of a container whose restart is not due (A-CST-7).
const crashLoopBackOff = "CrashLoopBackOff"

// backOffAfterExit puts the container in CrashLoopBackOff if its next start is not due
// yet (A-BO-2, A-CST-7), and reports the outcome.
func backOffAfterExit(s *step, c *container, r *Report) {
	switch {
	case c.Verdict.All:
		r.Outcome = ThenRestartAll
		return
	case s.restartAll.Active && c.Asked:
		return
	}
	r.Because = c.because()
	r.Outcome, r.Span = ThenRestart, max(0, s.crashDue(c).Sub(s.now))
	if r.Span > 0 {
		crashLoops(s, c, s.crashDelay(c))
	}
}

// because is why a container restarts, and after which failure.
func (c *container) because() Because {
	because := c.Verdict.Because
	if !c.succeeded(c.Exit) && !c.Requested {
		because.Nth = c.Failures
	}
	return because
}

// crashLoops shows that the container waits for its back-off (A-BO-2, A-CST-7).
func crashLoops(s *step, c *container, delay time.Duration) {
	c.Failure = &Failure{
		Reason:  crashLoopBackOff,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", delay, c.spec.Name, PodText(s.pod)),
	}
	s.do(RecordEvent{
		Type: warning, Reason: "BackOff", FieldPath: c.fieldPath(),
		Message: fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.spec.Name, PodText(s.pod)),
	})
}

// crashDelay is the pause between a container's exit and its restart (A-BO-3).
func (m *Machine) crashDelay(c *container) time.Duration {
	if c.Requested || (c.tuning.afterSuccess && c.succeeded(c.Exit)) {
		return 0
	}
	return m.crashPolicy(c).CrashDelay(c.BackOff, c.EndedAt)
}

// crashDue is when an exited container may be started again (A-BO-2, A-SYNC-10: exactly then).
func (m *Machine) crashDue(c *container) time.Time {
	return c.EndedAt.Add(m.crashDelay(c))
}

// PodText is the contract's POD, how Kubernetes names a pod in messages: name_namespace(uid).
func PodText(pod *v1.Pod) string {
	return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
}

// lost files the end of a container that the runtime no longer knows (A-CST-10, B-RST-4).
func lost(s *step, c *container) {
	settleExit(s, c, &v1.ContainerStateTerminated{
		ExitCode: 137,
		Reason:   "ContainerStatusUnknown",
		Message:  "The container could not be located when the pod was deleted.  The container used to be Running",
	})
}

// reasonStartError is the runtime's word for a process that it could not start (A-CST-9).
const reasonStartError = "StartError"
