package lifecycle

import (
	"slices"
	"time"
)

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
