package lifecycle

import (
	"slices"
	"time"
)

// The pace of rounds that follow each other at once: Kubernetes 1.36 knows no
// back-off for them (B-RAC-18), and pods that take their next task this way
// depend on it; but a loop may not hurt its node.
const (
	roundBurst    = 10
	roundInterval = time.Second
)

// delayNextRound says when the containers may start again: a burst at once, then
// one round a second; with an annotation on its curve, by the container whose
// exit was the cause.
func delayNextRound(s *step) {
	s.round.notBefore = s.now
	for _, c := range s.containers {
		if c.triggersRound() && s.tuning.restartAll != nil {
			backOffRound(s, c, *s.tuning.restartAll)
		}
	}
	if s.tuning.restartAll != nil || !slices.ContainsFunc(s.containers, (*container).triggersRound) {
		return
	}
	start := later(s.now, s.round.allowance.Add(-(roundBurst-1)*roundInterval))
	s.round.allowance = later(s.round.allowance, start).Add(roundInterval)
	s.round.notBefore = start
}

func backOffRound(s *step, c *container, policy BackOffPolicy) {
	delay := policy.crashDelay(c.roundBackOff, c.endedAt)
	c.roundBackOff = backOff{delay: policy.next(delay), from: s.now}
	due := c.endedAt.Add(delay)
	s.round.notBefore = later(s.round.notBefore, due)
	if due.After(s.now) {
		crashLoops(s, c, delay)
	}
}
