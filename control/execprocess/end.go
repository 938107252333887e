package execprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
)

// hangupTimeout is the time between hangup and kill.
const hangupTimeout = time.Second

// End ends a process and all that it started: first by SIGHUP, as a terminal that
// is closed, then by SIGKILL. It returns when they have ended.
func (c Container) End(ctx context.Context, p Process) error {
	tree, err := c.open(p)
	defer tree.close()
	if err != nil || len(tree) == 0 {
		return err
	}
	tree.signal(unix.SIGHUP)
	hangup, cancel := context.WithTimeout(ctx, hangupTimeout)
	defer cancel()
	if tree.await(hangup) {
		return nil
	}
	late, err := c.open(p) // what was started meanwhile
	defer late.close()
	late.signal(unix.SIGKILL)
	tree.signal(unix.SIGKILL)
	if !tree.await(ctx) || !late.await(ctx) {
		return fmt.Errorf("process %d does not end", p.PID)
	}
	return err
}

// processTree are a process and its descendants by pidfd, so that no other process is hit.
type processTree []int

// open is a process with its descendants.
func (c Container) open(p Process) (processTree, error) {
	pids, err := cgroups.GetAllPids(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list the container's processes: %w", err)
	}
	parents := map[int]int{}
	for _, pid := range pids {
		if parent, _, ok := stat(pid); ok {
			parents[pid] = parent
		}
	}
	if _, start, ok := stat(p.PID); !ok || start != p.start {
		return nil, nil // it has ended
	}
	var f processTree
	for pid := range parents {
		if !descends(pid, p.PID, parents) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return f, fmt.Errorf("open process %d: %w", pid, err)
		}
		f = append(f, fd)
	}
	return f, nil
}

func descends(pid, from int, parents map[int]int) bool {
	for range parents { // a bound: PIDs may have been used again while they were listed
		if pid == from {
			return true
		}
		pid = parents[pid]
	}
	return pid == from
}

func (f processTree) signal(sig unix.Signal) {
	for _, fd := range f {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // one that has ended needs none
	}
}

// await reports whether all have ended before ctx does.
func (f processTree) await(ctx context.Context) bool {
	for _, fd := range f {
		for {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 50)
			if n > 0 {
				break
			}
			if ctx.Err() != nil || err != nil && !errors.Is(err, unix.EINTR) {
				return false
			}
		}
	}
	return true
}

func (f processTree) close() {
	for _, fd := range f {
		_ = unix.Close(fd)
	}
}
