package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/cri"
)

const (
	// lookTime is how long a command may take to show its processes: milliseconds,
	// seconds if the machine is so starved that they have not begun yet.
	lookTime = 12 * time.Second
	// cancelTime is the same for a command that is not wanted any more.
	cancelTime = 2 * time.Second
	// lookEvery is the first pause between two looks at all processes; once the
	// command has had its time it doubles up to lookAtLeast.
	lookEvery   = 10 * time.Millisecond
	lookAtLeast = 160 * time.Millisecond
	// orphanTime is after how long one that has not shown is taken for ended, or
	// for another program by now.
	orphanTime = 500 * time.Millisecond
)

// end kills what a command that is given up has started.
//
// Neither the runtime nor the kernel says which processes that are: the runtime
// kills only the one that it started, the leader of a session of its own, and
// others may run commands in the container at the same time. The leader is known
// by its arguments. One that has become another program shows when the runtime
// gives the call up, and what a leader has left that has ended is known by the
// output that it holds: then hadEnded is true.
func (r *Runner) end(ctx context.Context, c *running, cancel context.CancelFunc, answered <-chan struct{}) (hadEnded bool) {
	wanted := ctx
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer done()
	// when it isn't wanted any more somebody waits for the answer
	defer context.AfterFunc(wanted, func() { time.AfterFunc(cancelTime, done) })()
	r.giveUp(c)
	s, err := r.view(ctx, c)
	if err != nil {
		return false
	}
	pause := lookEvery
	for judge := time.Now().Add(orphanTime); ; {
		s.lookAtOutputs()
		s.meet(r.commandsBeside(c))
		late := time.Now().After(judge)
		known := s.claimLeader(c) || answered == nil && s.claimEnded(c) || late && s.claimOrphans()
		if left := s.signal(unix.SIGKILL); known && !left {
			return s.hadEnded()
		}
		if late && !known && answered != nil && s.hasUnknown(c) {
			cancel()
			answered = nil // it says nothing about the processes any more
		}
		over := answered
		if known {
			over = nil
		}
		if late {
			pause = min(2*pause, lookAtLeast)
		}
		if !wait(ctx, pause, over) {
			return false
		}
	}
}

// view is of the command's container; an error, if the runtime doesn't say, or the container has ended.
func (r *Runner) view(ctx context.Context, c *running) (*processView, error) {
	return newProcessView(c.ContainerID, cri.PID(ctx, r.runtime, c.ContainerID), c.began)
}

// wait lets a moment pass; false if it should not go on.
func wait(ctx context.Context, pause time.Duration, over <-chan struct{}) bool {
	select {
	case <-time.After(pause):
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// Two looks at whether a command is held are that far apart at first, and at last.
const (
	heldPause     = 2 * time.Second
	longHeldPause = time.Minute
)

// watchHeld calls the command's Held when its time has come, or nothing when ctx ends.
func (r *Runner) watchHeld(ctx context.Context, c *running) {
	for pause := heldPause; wait(ctx, pause, nil); pause = min(2*pause, longHeldPause) {
		s, err := r.view(ctx, c)
		if err != nil {
			continue
		}
		s.lookAtOutputs()
		s.meet(r.commandsBeside(c))
		if by := s.heldBy(c); by != nil && ctx.Err() == nil {
			c.Held(by.name())
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

// name is a process's number, and what the kernel calls it, which is short.
func (p *process) name() string {
	name := "unknown"
	if proc, err := procfs.NewProc(p.PID); err == nil {
		name, _ = proc.Comm() // empty, if it has ended
	}
	return fmt.Sprintf("%s (PID %d)", name, p.PID)
}
