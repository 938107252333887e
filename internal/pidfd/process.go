// Package pidfd names processes for good, watches them and ends them. A PID alone may be used again;
// with its start time it names one process, and an open descriptor (pidfd_open) holds on to it.
package pidfd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"
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

// ID names a process of this machine for as long as the machine is up.
type ID struct {
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
}

// ErrEnded says that a process has ended, even if its parent has not taken note of it.
var ErrEnded = errors.New("the process has ended")

// Find is the ID of the process that has this PID now.
func Find(pid int) (ID, error) {
	proc, err := procfs.NewProc(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return ID{}, ErrEnded
	}
	if err != nil {
		return ID{}, err
	}
	stat, err := Stat(proc)
	return Of(stat), err
}

// Of is the ID of the process that Stat was asked about.
func Of(stat procfs.ProcStat) ID { return ID{PID: stat.PID, StartTicks: stat.Starttime} }

// Stat is what /proc says of a process that has not ended: ErrEnded, otherwise.
func Stat(proc procfs.Proc) (procfs.ProcStat, error) {
	stat, err := proc.Stat()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && strings.ContainsAny(stat.State, "ZX") {
		return procfs.ProcStat{}, ErrEnded
	}
	return stat, err
}

// Arguments is a process's command line; empty if it has ended. procfs drops arguments at the end that are empty.
func Arguments(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Program is the path of a process's program, whether or not the file has been removed since; empty if it isn't known.
func Program(proc procfs.Proc) string {
	path, _ := proc.Executable() // none, if it has ended
	return strings.TrimSuffix(path, " (deleted)")
}
