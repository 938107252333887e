package lifecycle

import "time"

// applyRestartRequested restarts one container, or all in place, because somebody asked:
// whatever their policies say, and without a back-off.
func applyRestartRequested(s *step, f RestartRequested) {
	because := Because{Text: f.Because}
	report := Report{Subject: ofPod, Kind: KindRestartRequested, Because: because, Rule: "B-RAC-1"}
	c := s.containerNamed(f.Container)
	switch {
	case s.kept.Stage != Syncing:
		report.Outcome = "the-pod-is-ending"
		tell(s, report)
	case f.Container == "":
		beginRestartAll(s, because, f.Graceful)
	case s.restartAll.Active:
		report.Outcome = thenAlready
		tell(s, report)
	case c == nil || c.kind == ephemeralContainer || c.kind == initContainer:
		report.On, report.Outcome = f.Container, "not-by-itself"
		tell(s, report)
	default:
		restartOne(s, c, because)
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
