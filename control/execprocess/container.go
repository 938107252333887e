package execprocess

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/procfs"

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
