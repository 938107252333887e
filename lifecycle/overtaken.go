package lifecycle

// Overtaken says whether somebody else has run the pod since the checkpoint was written,
// such as a kubelet in lifepod's place: the runtime has a sandbox or an instance that
// this machine had not begun. The checkpoint is then out of date: adopt the pod (Adopt),
// or what runs would be taken for strays. Only names and attempts of the snapshot count.
func (c Checkpoint) Overtaken(seen Observed) bool {
	for _, s := range seen.Sandboxes {
		if s.Attempt > c.Sandbox.Attempt {
			return true
		}
	}
	for _, o := range seen.Containers {
		for i := range c.Containers {
			if c.Containers[i].Name == o.Name && int64(o.Attempt) > c.Containers[i].lastBegun() {
				return true
			}
		}
	}
	return false
}

// lastBegun is the attempt of the newest instance that may exist. The next instance
// counts as soon as its creation begins, and also if that had no answer: for some seconds
// the runtime goes on with a create whose caller was killed.
func (c *container) lastBegun() int64 {
	if c.Exit != nil && (c.Position != exited || c.NextBegun) {
		return int64(c.RestartCount) + 1
	}
	return int64(c.RestartCount)
}
