package lifecycle

import (
	"slices"
	"time"
)

// The pace of rounds that directly follow each other. Kubernetes 1.37 has no back-off for
// them (B-RAC-18), and pods that take their next task this way depend on that, but a loop
// must not harm its node.
const (
	roundBurst    = 10
	roundInterval = time.Second
)

// delayNextRound says when the containers may start again: a burst of rounds at once,
// then one per second. With the annotation, its curve applies to the container that
// caused the round instead.
func delayNextRound(s *step) {
	s.round.NotBefore = s.now
	for _, c := range s.containers {
		if c.triggersRound() && s.tuning.restartAll != nil {
			backOffRound(s, c, *s.tuning.restartAll)
		}
	}
	if s.tuning.restartAll != nil || !slices.ContainsFunc(s.containers, (*container).triggersRound) {
		return
	}
	start := later(s.now, s.round.Allowance.Add(-(roundBurst-1)*roundInterval))
	s.round.Allowance = later(s.round.Allowance, start).Add(roundInterval)
	s.round.NotBefore = start
}

func backOffRound(s *step, c *container, policy BackoffPolicy) {
	delay := policy.CrashDelay(c.RoundBackOff, c.EndedAt)
	c.RoundBackOff = BackoffPlace{Delay: policy.Next(delay), From: s.now}
	due := c.EndedAt.Add(delay)
	s.round.NotBefore = later(s.round.NotBefore, due)
	if due.After(s.now) {
		crashLoops(s, c, delay)
	}
}
