package lifecycle

import "time"

// planProbes sends the probes that are due, at their moment: the one timer wakes
// the machine for the next (A-PROBE-2, without the random wait). An attempt
// whose container has ended, or needs no such probe any more, is given up.
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

// probeDue is when the next attempt is to be made: initialDelaySeconds after the
// start of the process, to the moment (A-PROBE-4), then every period, and at once
// after an attempt that counted as nothing (A-PROBE-7). What the probe has to
// wait for besides does not count: the first readiness probe comes in the moment
// in which the container becomes started (A-PROBE-6).
func (c *container) probeDue(k ProbeKind) time.Time {
	if c.Probes[k].void > 0 {
		return time.Time{}
	}
	delay := time.Duration(c.probeSpec(k).InitialDelaySeconds) * time.Second
	return later(c.Probes[k].Next, c.Since.Add(delay))
}

// probes says whether a container is to be probed now. The startup probe goes
// before the others, and ends with its verdict (A-PROBE-4, A-PROBE-5). Of a
// container that is being stopped, or whose pod is, only readiness is of
// interest, until it has exited (A-PROBE-15, B-PRB-1, B-PRB-2, B-E2E-3).
func (s *step) probes(c *container, k ProbeKind) bool {
	if c.Position != running || c.postStartPending() || c.PostStart.Failed {
		return false
	}
	ending := s.kept.Stage != Syncing || c.Kill != nil || c.Ending
	switch k {
	case StartupProbe:
		return !ending && !c.started()
	case LivenessProbe:
		return !ending && c.started()
	}
	return c.started()
}

func giveUpProbe(s *step, p *probe) {
	if p.op != 0 {
		s.do(Cancel{ID: p.op})
		p.op, p.void = 0, 0
	}
}

// endProbes forgets the probes of an instance that has ended: nothing they said
// holds for the next one (A-PROBE-3, B-RAC-17).
func endProbes(s *step, c *container) {
	for k := range c.Probes {
		giveUpProbe(s, &c.Probes[k])
		c.Probes[k] = probe{}
	}
}
