package lifecycle

// Overtaken says that somebody else has led the pod on since the checkpoint was
// written, as a kubelet that ran for a while in lifepod's place: the runtime has a
// sandbox or an instance that this machine had not begun. Such a checkpoint is of
// the past; the pod is to be adopted (Adopt), or what runs would be taken for strays.
// Of what was seen only names and attempts count.
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

// lastBegun is the attempt of the newest instance that may have been begun: the
// next one is, from the moment it is being created, and stays so if that had no
// answer: a runtime goes on with a create whose caller was killed, for seconds.
func (c *container) lastBegun() int64 {
	if c.Exit != nil && (c.Position != exited || c.NextBegun) {
		return int64(c.RestartCount) + 1
	}
	return int64(c.RestartCount)
}
