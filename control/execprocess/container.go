package execprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
)

// Container is a running container, of which the first process is known.
type Container struct {
	init int
	dir  string // its cgroup, of any one controller
}

// Process is one process for as long as the machine is up: a PID may be used again.
type Process struct {
	PID   int
	start uint64 // clock ticks since boot
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
func (c Container) ExecProcesses() ([]Process, error) {
	pids, err := cgroups.GetAllPids(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list the container's processes: %w", err)
	}
	inside := map[int]bool{}
	for _, pid := range pids {
		inside[pid] = true
	}
	var processes []Process
	for _, pid := range pids {
		parent, start, ok := stat(pid)
		if ok && pid != c.init && !inside[parent] && !preparing(pid) {
			processes = append(processes, Process{PID: pid, start: start})
		}
	}
	return processes, nil
}

// preparing says that a process is still the runtime's own, before it turns
// into the command.
func preparing(pid int) bool {
	arguments := Arguments(pid)
	return len(arguments) == 0 || len(arguments) == 2 && filepath.Base(arguments[0]) == "runc" && arguments[1] == "init"
}

// Arguments is a process's command line; empty if it has ended.
func Arguments(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// stat reads a process's parent and its start; false if it has ended.
func stat(pid int) (parent int, start uint64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	// The command in parentheses may have anything in it; behind it come
	// state (field 3), ppid (4) … starttime (22).
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	if err != nil {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return parent, start, err == nil
}
