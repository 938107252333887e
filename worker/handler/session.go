package handler

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

const (
	// startTime is for a command to appear in its container while no other begins there. After its
	// turn it is known by its arguments only, for lookTime altogether.
	startTime = 2 * time.Second
	// hangupTime is between hangup and kill.
	hangupTime = time.Second
	// endTime is for a command whose client has gone to end.
	endTime = 10 * time.Second
)

// Session is a command that a client runs in a container, by CRI's Exec. A runtime lets it run on when
// its client has gone, and does not say which process it is: that is recognised when it begins.
type Session struct {
	runner  *Runner
	command *running
	view    *processView
	before  []pidfd.ID // what ran there already
	over    chan struct{}
	looked  sync.WaitGroup
	process *pidfd.ID // written before looked is done
}

// Begin prepares a session, when no other one is beginning in the container: so each is recognised.
// The runtime is to be asked for it then, and End is to be called.
func (r *Runner) Begin(ctx context.Context, containerID string, args []string) (*Session, error) {
	leave, err := r.enter(ctx, containerID)
	if err != nil {
		return nil, err
	}
	c := &running{Command: Command{ContainerID: containerID, Args: args}, began: ticksNow()}
	s := &Session{runner: r, command: c, over: make(chan struct{})}
	if s.view, err = r.view(ctx, c); err != nil {
		leave()
		return s, nil //nolint:nilerr // its process can't be seen, and it runs all the same
	}
	s.view.look()
	for _, p := range s.view.recent {
		s.before = append(s.before, p.ID)
	}
	s.looked.Go(func() { s.recognise(leave) })
	return s, nil
}

// enter waits until no other session begins in a container. leave is to be called once.
func (r *Runner) enter(ctx context.Context, containerID string) (leave func(), _ error) {
	for {
		r.mu.Lock()
		other := r.beginning[containerID]
		if other == nil {
			begun := make(chan struct{})
			r.beginning[containerID] = begun
			r.mu.Unlock()
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.beginning, containerID)
				close(begun)
			}, nil
		}
		r.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// recognise looks for the command's process until it is there. The next session
// begins when it is, or after a while.
func (s *Session) recognise(leave func()) {
	leave = sync.OnceFunc(leave)
	defer leave()
	defer time.AfterFunc(startTime, leave).Stop()
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	begun := time.Now()
	for pause := lookEvery; !s.look(time.Since(begun) < startTime); pause = min(2*pause, lookAtLeast) {
		if !wait(ctx, pause, s.over) {
			s.look(time.Since(begun) < startTime)
			return
		}
	}
}

// look reports whether there is nothing to look for any more: the command's process is there, or the container has ended.
func (s *Session) look(alone bool) bool {
	_, _, s.view.others = s.runner.commandsBeside(s.command)
	if len(s.view.look()) == 0 {
		return true
	}
	s.process = s.find(alone)
	return s.process != nil
}

// find is the command's process: in its turn the one that is new, whatever it has become since.
func (s *Session) find(alone bool) *pidfd.ID {
	for _, p := range s.view.recent {
		is := slices.Equal(p.args, s.command.Args) || alone && !s.view.isAnothers(p)
		if is && p.outside && !p.ended && !preparing(p.args) && !slices.Contains(s.before, p.ID) {
			return &p.ID
		}
	}
	return nil
}

// preparing says that a process is still the runtime's own, before it turns
// into the command.
func preparing(args []string) bool {
	if len(args) == 0 {
		return true
	}
	switch filepath.Base(args[0]) {
	case "runc", "containerd-shim-runc-v2": // the carried shim begins the command itself
		return len(args) == 2 && args[1] == "init"
	case "crun":
		return slices.Contains(args, "exec")
	}
	return false
}

// End ends the command, if it still runs, with all that it has started.
func (s *Session) End() error {
	close(s.over)
	s.looked.Wait()
	if s.process == nil {
		return nil
	}
	return s.view.end(*s.process)
}

// End ends a process that the runtime has begun in a container, and all that it has started; first is the
// container's first process.
func End(containerID string, first, pid int) error {
	process, err := pidfd.Find(pid)
	if err != nil {
		return nil //nolint:nilerr // it has ended
	}
	s, err := newProcessView(containerID, first, process.StartTicks)
	if err != nil {
		return err
	}
	return s.end(process)
}

// end ends a process that has not ended, and all that it has started: first by SIGHUP, as a terminal that is closed,
// then by SIGKILL. It returns when they have ended.
func (s *processView) end(leader pidfd.ID) error {
	s.look()
	at := slices.IndexFunc(s.recent, func(p process) bool { return p.ID == leader && !p.ended })
	if at < 0 {
		return nil // what it has left was to go on
	}
	session := s.recent[at].session // its own; with crun a process that has ended leads it
	left := func(sig unix.Signal) bool {
		s.look()
		s.claim(session)
		return s.signal(sig)
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	hangup, cancel := context.WithTimeout(ctx, hangupTime)
	defer cancel()
	for sig, pause := unix.SIGHUP, lookEvery; left(sig) && wait(hangup, pause, nil); pause = min(2*pause, lookAtLeast) {
		sig = 0
	}
	for left(unix.SIGKILL) {
		if !wait(ctx, lookEvery, nil) {
			return fmt.Errorf("process %d does not end", leader.PID)
		}
	}
	return nil
}
