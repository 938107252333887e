package lifecycle

// advanceCrash moves a container along its back-off curve. It is called when an instance
// is created whose predecessor has exited, and not earlier, so that a failing pull does
// not count as a crash (A-BO-6).
func advanceCrash(s *step, c *container) {
	policy := s.crashPolicy(c)
	delay := policy.CrashDelay(c.BackOff, c.EndedAt)
	c.BackOff = BackoffPlace{Delay: policy.Next(delay), From: s.now}
}
