package lifecycle

// advanceInit moves the turn past the init containers that are through: a
// regular one when it has completed, a sidecar when it has started (A-INIT-3,
// A-INIT-4). The turn never goes back within one sandbox.
func advanceInit(s *step) {
	inits := s.inits()
	for s.kept.InitTurn < len(inits) && inits[s.kept.InitTurn].through() {
		s.kept.InitTurn++
	}
}

// through says that the next init container may begin.
func (c *container) through() bool {
	if c.kind == sidecarContainer {
		return c.started() || c.Position == exited && c.Verdict.Complete
	}
	return c.done()
}

// failedInit is the init container whose failure ends the pod, or nil (A-INIT-3).
func failedInit(s *step) *container {
	inits := s.inits()
	if s.kept.InitTurn >= len(inits) {
		return nil
	}
	if c := inits[s.kept.InitTurn]; c.kind == initContainer && c.final() && !c.done() {
		return c
	}
	return nil
}
