package execprocess

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// Container is a running container, of which the first process is known.
type Container struct {
	init int
	dir  string // its cgroup, of any one controller
}

// Of is the container of a process.
func Of(pid int) (Container, error) {
	dir, err := cgroupDir(fmt.Sprintf("/proc/%d/cgroup", pid))
	return Container{init: pid, dir: dir}, err
}

func cgroupDir(file string) (string, error) {
	paths, err := cgroups.ParseCgroupFile(file)
	if err != nil {
		return "", fmt.Errorf("find the container's cgroup: %w", err)
	}
	const mounted = "/sys/fs/cgroup"
	if cgroups.IsCgroup2UnifiedMode() {
		return filepath.Join(mounted, paths[""]), nil
	}
	for _, controller := range []string{"pids", "memory", "cpu", "freezer"} {
		if path, ok := paths[controller]; ok {
			return filepath.Join(mounted, controller, path), nil
		}
	}
	return "", fmt.Errorf("find the container's cgroup: %s names none of its controllers", file)
}

// ExecProcesses are the processes that were started from outside, and still run.
func (c Container) ExecProcesses() ([]pidfd.ID, error) {
	inside, err := c.processes()
	var started []pidfd.ID
	for pid, stat := range inside {
		if _, child := inside[stat.PPID]; pid != c.init && !child && !preparing(pid) {
			started = append(started, pidfd.Of(stat))
		}
	}
	return started, err
}

// processes lists the processes of the container, by PID.
func (c Container) processes() (map[int]procfs.ProcStat, error) {
	pids, err := cgroups.GetAllPids(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list the container's processes: %w", err)
	}
	inside := map[int]procfs.ProcStat{}
	for _, pid := range pids {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended
		}
		if stat, err := pidfd.Stat(proc); err == nil {
			inside[pid] = stat
		}
	}
	return inside, nil
}

// preparing says that a process is still the runtime's own, before it turns
// into the command.
func preparing(pid int) bool {
	arguments := pidfd.Arguments(pid)
	if len(arguments) == 0 {
		return true
	}
	switch filepath.Base(arguments[0]) {
	case "runc", "containerd-shim-runc-v2": // the carried shim begins the command itself
		return len(arguments) == 2 && arguments[1] == "init"
	case "crun":
		return slices.Contains(arguments, "exec")
	}
	return false
}

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
