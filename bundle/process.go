package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// identity names a process for good: a pid alone may be used again. It is
// what containerd.json holds.
type identity struct {
	PID int `json:"pid"`
	// StartTicks is the start time in clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
	// Version is a digest of program and configuration: a containerd of
	// another version is replaced instead of adopted.
	Version string `json:"version"`
}

// process is a running process that need not be our child.
type process struct {
	identity
	// pidfd is readable once the process has ended.
	pidfd *os.File
	ended chan struct{}
}

// errGone means that the process that an identity names has ended.
var errGone = errors.New("the process has ended")

// watch opens the process that id names, or returns errGone.
func watch(id identity) (*process, error) {
	p, err := watchChild(id)
	if err != nil {
		return nil, err
	}
	// Only now that the descriptor pins the process is it certain that what
	// is read about the pid is about this process.
	if ticks, err := startTicks(id.PID); err != nil || ticks != id.StartTicks {
		p.release()
		return nil, errGone
	}
	return p, nil
}

// watchChild is watch for a child that was not waited for yet: nobody else
// can have its pid.
func watchChild(id identity) (*process, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", id.PID, err)
	}
	p := &process{identity: id, pidfd: os.NewFile(uintptr(fd), "pidfd"), ended: make(chan struct{})}
	go p.wait()
	return p, nil
}

// wait closes ended when the process ends. It returns early when release
// closes the descriptor; nobody looks at ended then.
func (p *process) wait() {
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

// release stops watching; the process goes on.
func (p *process) release() { p.pidfd.Close() }

func (p *process) signal(sig unix.Signal) error {
	conn, err := p.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(sent, unix.ESRCH) {
		return nil
	}
	return sent
}

// stop ends the process: TERM, and KILL after patience.
func (p *process) stop(ctx context.Context, patience time.Duration) error {
	if err := p.signal(unix.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", p.PID, err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := p.signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	<-p.ended
	return nil
}

// startTicks reads field 22 of /proc/PID/stat. A zombie has ended.
func startTicks(pid int) (uint64, error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "Z" {
		return 0, errGone
	}
	return strconv.ParseUint(fields[start], 10, 64)
}

// isStopped says whether a process was stopped by a signal or a debugger.
func isStopped(pid int) bool {
	fields, err := statFields(pid)
	return err == nil && len(fields) > 0 && strings.EqualFold(fields[0], "T")
}

// statFields are the fields of /proc/PID/stat from the third, the state, on:
// the second is the program's name in parentheses and may hold anything.
func statFields(pid int) ([]string, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])), nil
}

// executable is the path of a process's program; a removed file counts as
// if it were still there.
func executable(pid int) (string, error) {
	exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return strings.TrimSuffix(exe, " (deleted)"), err
}

// commandLine is a process's program name and arguments.
func commandLine(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

func allProcesses() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
