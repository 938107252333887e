package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// tuningOf reads the annotations of one container. CheckAnnotations has refused invalid
// ones; here they count as absent.
func tuningOf(pod *v1.Pod, container string) tuning {
	t := tuning{maxRestarts: -1}
	if len(pod.Annotations) == 0 {
		return t
	}
	annotation := func(kind string) string {
		if v, ok := pod.Annotations[AnnotationPrefix+kind+"."+container]; ok {
			return v
		}
		return pod.Annotations[AnnotationPrefix+kind]
	}
	if p, err := ParseBackoff(annotation(backOffKey)); err == nil {
		t.backOff = &p
	}
	t.afterSuccess = annotation(afterSuccessKey) == "none"
	if n, window, err := parseMaxRestarts(annotation(maxRestartsKey)); err == nil {
		t.maxRestarts, t.window = n, window
	}
	return t
}

func podTuningOf(pod *v1.Pod) podTuning {
	if text, asked := pod.Annotations[AnnotationPrefix+restartAllKey]; asked {
		if p, err := ParseBackoff(text); err == nil {
			return podTuning{restartAll: &p}
		}
	}
	return podTuning{}
}

// crashPolicy is the back-off that applies to the container.
func (m *Machine) crashPolicy(c *container) BackoffPolicy {
	if c.tuning.backOff != nil {
		return *c.tuning.backOff
	}
	return m.options.CrashBackOff
}

// limitRestarts ends the pod instead of a restart that exceeds the limit.
func limitRestarts(s *step, c *container, v verdict) verdict {
	ownDoing := c.Asked && (c.Kill == nil || c.Kill.Uncounted) || c.Exit.Reason == "ContainerStatusUnknown" // resized, or its sandbox was lost
	if !v.Restart || ownDoing || !countRestart(s, c) {
		return v
	}
	limit := fmt.Sprintf("%smax-restarts: %d", AnnotationPrefix, c.tuning.maxRestarts)
	if c.tuning.window > 0 {
		limit += " in " + shortDuration(c.tuning.window)
	}
	return verdict{Terminate: true, Limit: true, Because: Because{Text: limit}, Rule: "A-RST-2"}
}

// countRestart counts a restart and says whether it exceeds the limit within the
// container's window. Without a limit it counts nothing.
func countRestart(s *step, c *container) (tooMany bool) {
	if c.tuning.maxRestarts < 0 {
		return false
	}
	if c.tuning.window > 0 {
		c.RestartedAt = slices.DeleteFunc(slices.Clone(c.RestartedAt), func(t time.Time) bool { return s.now.Sub(t) >= c.tuning.window })
	}
	if len(c.RestartedAt) >= c.tuning.maxRestarts {
		return true
	}
	c.RestartedAt = append(slices.Clone(c.RestartedAt), s.now)
	return false
}

// shortDuration is a duration without the parts that are zero: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// The pace of restarts of all containers that directly follow each other. Kubernetes 1.37 has no back-off for
// them (B-RAC-18), and pods that take their next task this way depend on that, but a loop
// must not harm its node.
const (
	restartAllBurst    = 10
	restartAllInterval = time.Second
)

// delayNextRestartAll says when the containers may start again: a burst of restarts at once,
// then one per second. With the annotation, its curve applies to the container that
// caused the restart instead.
func delayNextRestartAll(s *step) {
	s.restartAll.NotBefore = s.now
	for _, c := range s.containers {
		if c.triggersRestartAll() && s.tuning.restartAll != nil {
			backOffRestartAll(s, c, *s.tuning.restartAll)
		}
	}
	if s.tuning.restartAll != nil || !slices.ContainsFunc(s.containers, (*container).triggersRestartAll) {
		return
	}
	start := later(s.now, s.restartAll.Allowance.Add(-(restartAllBurst-1)*restartAllInterval))
	s.restartAll.Allowance = later(s.restartAll.Allowance, start).Add(restartAllInterval)
	s.restartAll.NotBefore = start
}

func backOffRestartAll(s *step, c *container, policy BackoffPolicy) {
	delay := policy.CrashDelay(c.RestartAllBackOff, c.EndedAt)
	c.RestartAllBackOff = BackoffPlace{Delay: policy.Next(delay), From: s.now}
	due := c.EndedAt.Add(delay)
	s.restartAll.NotBefore = later(s.restartAll.NotBefore, due)
	if due.After(s.now) {
		crashLoops(s, c, delay)
	}
}

// apply restarts one container, or all in place, because somebody asked:
// whatever their policies say, and without a back-off.
func (f RestartRequested) apply(s *step) {
	report := Report{Subject: ofPod, Kind: KindRestartRequested, Because: f.Because, Rule: "B-RAC-1"}
	c := s.containerNamed(f.Container)
	switch {
	case s.kept.Stage != Syncing:
		report.Outcome = "the-pod-is-ending"
		tell(s, report)
	case f.Container == "":
		beginRestartAll(s, f.Because, f.Graceful)
	case s.restartAll.Active:
		report.Outcome = thenAlready
		tell(s, report)
	case c == nil || c.kind == ephemeralContainer || c.kind == initContainer:
		report.On, report.Outcome = f.Container, "not-by-itself"
		tell(s, report)
	default:
		restartOne(s, c, f.Because)
	}
}

// restartOne stops the container like any single container, with its hook and its grace.
// One that waits for a restart, or has ended, starts now.
func restartOne(s *step, c *container, because Because) {
	again := verdict{Restart: true, Because: because, Rule: "A-RST-4"}
	report := Report{Subject: c.spec.Name, Kind: KindRestartRequested, Because: because, Rule: "A-RST-4"}
	c.RetryAt, c.Image.RetryAt = time.Time{}, time.Time{}
	delete(s.kept.ImageBack, c.spec.Image)
	switch c.Position {
	case running:
		killContainer(s, c, kill{
			Message:   "Container " + c.spec.Name + " restart requested, will be restarted",
			Deadline:  s.now.Add(s.specGrace()),
			Requested: true, Verdict: &again, report: report,
		})
		return
	case exited:
		c.Verdict, c.Requested, c.Failure = again, true, nil
	}
	tell(s, report)
}
