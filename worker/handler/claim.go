package handler

import (
	"cmp"
	"slices"
)

// meet notes what else runs in the container.
func (s *processView) meet(same []*running, allEnding bool, others [][]string) {
	for _, c := range same {
		if !slices.Contains(s.same, c) {
			s.same = append(s.same, c)
		}
		s.since = min(s.since, c.began)
	}
	s.allEnding, s.others = allEnding, others
}

// claimLeader claims the session of the command's leader; false if that is not
// known. The leaders of one command that runs several times are told apart by
// their order.
func (s *processView) claimLeader(c *running) bool {
	var leaders []process
	for _, p := range s.recent {
		if p.entered && slices.Equal(p.args, c.Args) {
			leaders = append(leaders, p)
		}
	}
	slices.SortFunc(leaders, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.StartTicks, b.StartTicks), cmp.Compare(a.PID, b.PID)) // several begin in one tick
	})
	all := len(leaders) >= len(s.same)
	for i, p := range leaders {
		if s.allEnding || all && i == slices.Index(s.same, c) {
			s.claim(p.session)
		}
	}
	return all
}

// isUnknown says that a process leads a session of a command that isn't known.
func (s *processView) isUnknown(p process, c *running) bool {
	return p.entered && !slices.Equal(p.args, c.Args) && !s.isAnothers(p)
}

// isAnothers says that a process has the arguments of another command that runs.
func (s *processView) isAnothers(p process) bool {
	return slices.ContainsFunc(s.others, func(args []string) bool { return slices.Equal(p.args, args) })
}

func (s *processView) hasUnknown(c *running) bool {
	return slices.ContainsFunc(s.recent, func(p process) bool { return s.isUnknown(p, c) && !p.ended })
}

// claimEnded claims the sessions of unknown commands that the runtime has ended; false
// until it has.
func (s *processView) claimEnded(c *running) bool {
	for _, p := range s.recent {
		if s.isUnknown(p, c) && p.ended {
			s.claim(p.session)
		}
	}
	return len(s.sessions) > 0
}

// claimOrphans claims what a command has left that ended before it was given up:
// it holds an output of which nobody that lives is the owner. If there are
// several such commands, it can't be told which one's it is.
func (s *processView) claimOrphans() bool {
	var orphans []process
	for _, p := range s.recent {
		if len(p.writes) > 0 && !p.ended && !s.hasOwner(p) {
			orphans = append(orphans, p)
		}
	}
	for _, p := range orphans {
		if !overlap(p.writes, orphans[0].writes) {
			return false
		}
	}
	for _, p := range orphans {
		s.claim(p.session)
	}
	return len(orphans) > 0 || len(s.sessions) > 0
}

// hadEnded says that the command ended before it was given up: nobody has seen its leader since.
func (s *processView) hadEnded() bool {
	return len(s.sessions) > 0 && !slices.ContainsFunc(s.recent, func(p process) bool { return p.entered && s.sessions[p.session] })
}

func (s *processView) hasOwner(p process) bool {
	return slices.ContainsFunc(s.recent, func(o process) bool { return o.entered && !o.ended && overlap(o.writes, p.writes) })
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

// claim says that a session is the command's, and so is what it has begun in others.
func (s *processView) claim(session int) {
	s.sessions[session] = true
	for range s.recent {
		for _, p := range s.recent {
			if slices.ContainsFunc(s.recent, func(parent process) bool { return parent.PID == p.parent && s.sessions[parent.session] }) {
				s.sessions[p.session] = true
			}
		}
	}
}
