package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/lifepod/lifepod/cri"
)

// Two looks at whether a command is held are that far apart at first, and at last.
const (
	heldPause     = 2 * time.Second
	longHeldPause = time.Minute
)

// watchHeld calls the command's Held when its time has come, or nothing when ctx ends.
func (r *Runner) watchHeld(ctx context.Context, c *running) {
	for pause := heldPause; wait(ctx, pause, nil); pause = min(2*pause, longHeldPause) {
		s, err := newProcessView(c.ContainerID, cri.PID(ctx, r.runtime, c.ContainerID), c.began)
		if err != nil {
			continue // a runtime that doesn't say, or the container has ended
		}
		s.look()
		s.meet(r.commandsBeside(c))
		if by := s.heldBy(c); by != nil && ctx.Err() == nil {
			c.Held(s.nameOf(*by))
			return
		}
	}
}

// heldBy is a process that holds the output of the command, whose own process has ended; nil if that
// is not so, or can't be known.
func (s *processView) heldBy(c *running) *process {
	if s.claimLeader(c); len(s.sessions) > 0 || s.hasUnknown(c) || !s.claimOrphans() {
		return nil
	}
	for i, p := range s.recent {
		if s.sessions[p.session] && len(p.writes) > 0 && s.hadEnded() {
			return &s.recent[i]
		}
	}
	return nil
}

// nameOf names a process by its number and what the kernel calls it, which is short.
func (s *processView) nameOf(p process) string {
	name := "unknown"
	if proc, err := s.fs.Proc(p.PID); err == nil {
		name, _ = proc.Comm() // empty, if it has ended
	}
	return fmt.Sprintf("%s (PID %d)", name, p.PID)
}
