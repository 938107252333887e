package pidfd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that need not be our child, held by a descriptor.
type Process struct {
	ID
	pidfd *os.File
	ended chan struct{}
}

// Open holds the process that id names; ErrEnded if there is none.
func Open(id ID) (*Process, error) {
	p, err := OpenPID(id.PID)
	if err != nil {
		return nil, err
	}
	// Only now that the descriptor holds the process is it certain that what
	// is read about the PID is about this process.
	if now, err := Find(id.PID); err != nil || now != id {
		p.Close()
		return nil, ErrEnded
	}
	p.ID = id
	return p, nil
}

// OpenPID holds whichever process has the PID. It is for a child that was not waited for yet, whose
// PID nobody else can have, and for callers that make sure afterwards that it is the process they mean.
func OpenPID(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrEnded
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p := &Process{ID: ID{PID: pid}, pidfd: os.NewFile(uintptr(fd), "pidfd"), ended: make(chan struct{})}
	go p.wait()
	return p, nil
}

// wait closes ended when the process ends: its descriptor is readable then. It returns
// early when Close closes the descriptor; nobody looks at ended then.
func (p *Process) wait() {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return
	}
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || (err != nil && !errors.Is(err, unix.EINTR))
	})
	if err == nil {
		close(p.ended)
	}
}

// Close lets go of the process, which goes on.
func (p *Process) Close() { _ = p.pidfd.Close() } // nothing was written

// Ended is closed when the process has ended, unless Close comes first.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal; a process that has ended needs none.
func (p *Process) Signal(sig unix.Signal) error {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if sent != nil && !errors.Is(sent, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.PID, sent)
	}
	return nil
}

// Wait returns when the process has ended, or with the cause of ctx.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("process %d does not end: %w", p.PID, context.Cause(ctx))
	}
}

// Stop ends the process: TERM, and KILL after patience or when ctx is done.
func (p *Process) Stop(ctx context.Context, patience time.Duration) error {
	if err := p.Signal(unix.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.Wait(ctx) == nil {
		return nil
	}
	if err := p.Signal(unix.SIGKILL); err != nil {
		return err
	}
	<-p.ended
	return nil
}
