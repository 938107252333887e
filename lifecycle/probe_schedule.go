package lifecycle

import "time"

// planProbes sends the probes that are due, exactly on time: the one timer wakes the
// machine for the next (A-PROBE-2, without the random wait). It gives up an attempt if
// its container has ended or no longer needs the probe.
func planProbes(s *step) {
	for _, c := range s.containers {
		for k := range c.Probes {
			planProbe(s, c, ProbeKind(k))
		}
	}
}

func planProbe(s *step, c *container, k ProbeKind) {
	spec := c.probeSpec(k)
	if spec == nil {
		return
	}
	p := &c.Probes[k]
	if !s.probes(c, k) {
		giveUpProbe(s, p)
		return
	}
	due := c.probeDue(k)
	if p.op != 0 || !s.due(due) {
		return // attempts of one probe never overlap
	}
	if p.void == 0 { // the period counts from the start of the first attempt
		p.Next = s.now.Add(time.Duration(spec.PeriodSeconds) * time.Second)
	}
	p.op, p.late = s.nextID(), min(s.overdue, s.now.Sub(due))
	s.do(Probe{ID: p.op, Container: c.spec.Name, ContainerID: c.ID, Kind: k, PodIP: s.podIP()})
}

// probeDue is when the next attempt is due: exactly initialDelaySeconds after the process
// started (A-PROBE-4), then every period, and at once after an attempt that did not count
// (A-PROBE-7). Other conditions add no delay: the first readiness probe comes the moment
// the container becomes started (A-PROBE-6).
func (c *container) probeDue(k ProbeKind) time.Time {
	if c.Probes[k].void > 0 {
		return time.Time{}
	}
	delay := time.Duration(c.probeSpec(k).InitialDelaySeconds) * time.Second
	return later(c.Probes[k].Next, c.Since.Add(delay))
}

// probes says whether a container needs that probe now. The startup probe comes before
// the others and ends with its verdict (A-PROBE-4, A-PROBE-5). While the container or its
// pod is being stopped, only readiness matters, until the exit (A-PROBE-15, B-PRB-1,
// B-PRB-2, B-E2E-3).
func (m *Machine) probes(c *container, k ProbeKind) bool {
	if c.Position != running || c.postStartPending() || c.PostStart.Failed {
		return false
	}
	switch k {
	case StartupProbe:
		return !m.ending(c) && !c.started()
	case LivenessProbe:
		return !m.ending(c) && c.started()
	}
	return c.started()
}

// ending says whether a container or its pod is being stopped.
func (m *Machine) ending(c *container) bool {
	return m.kept.Stage != Syncing || c.Kill != nil || c.Ending
}

func giveUpProbe(s *step, p *probe) {
	if p.op != 0 {
		s.do(Cancel{ID: p.op})
		p.op, p.void = 0, 0
	}
}

// endProbes forgets the probes of an instance that has ended: their results do not hold
// for the next one (A-PROBE-3, B-RAC-17).
func endProbes(s *step, c *container) {
	for k := range c.Probes {
		giveUpProbe(s, &c.Probes[k])
		c.Probes[k] = probe{}
	}
}
