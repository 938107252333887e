package execprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// hangupTimeout is the time between hangup and kill.
const hangupTimeout = time.Second

// End ends a process and all that it started: first by SIGHUP, as a terminal that
// is closed, then by SIGKILL. It returns when they have ended.
func (c Container) End(ctx context.Context, p pidfd.ID) error {
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

// processTree are a process and its descendants.
type processTree []*pidfd.Process

// open is a process with its descendants; empty if it has ended.
func (c Container) open(p pidfd.ID) (processTree, error) {
	inside, err := c.processes()
	if err != nil || pidfd.Of(inside[p.PID]) != p {
		return nil, err
	}
	var tree processTree
	for pid, stat := range inside {
		if !descends(pid, p.PID, inside) {
			continue
		}
		opened, err := pidfd.Open(pidfd.Of(stat))
		if errors.Is(err, pidfd.ErrEnded) {
			continue
		}
		if err != nil {
			return tree, err
		}
		tree = append(tree, opened)
	}
	return tree, nil
}

func descends(pid, from int, inside map[int]procfs.ProcStat) bool {
	for range inside { // a bound: PIDs may have been used again while they were listed
		if pid == from {
			return true
		}
		pid = inside[pid].PPID
	}
	return pid == from
}

func (t processTree) signal(sig unix.Signal) {
	for _, p := range t {
		_ = p.Signal(sig) // another user's, at worst: await tells
	}
}

// await reports whether all have ended before ctx does.
func (t processTree) await(ctx context.Context) bool {
	for _, p := range t {
		if p.Wait(ctx) != nil {
			return false
		}
	}
	return true
}

func (t processTree) close() {
	for _, p := range t {
		p.Close()
	}
}
