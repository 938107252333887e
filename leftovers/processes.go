package leftovers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// identity names a process for good; a PID alone may be used again.
type identity struct {
	pid int
	// startTicks is the start time in clock ticks since boot.
	startTicks uint64
}

// runtimePrograms are judged by their arguments, too: they may have been
// started from elsewhere than the root.
var runtimePrograms = []string{"containerd", "containerd-shim-runc-v2", "runc"}

// findProcesses lists the runtime's processes, containerd first so that it
// doesn't see its shims vanish. The processes of containers are found by their
// cgroup.
func (s system) findProcesses(place Place) ([]Leftover, error) {
	entries, err := os.ReadDir(s.proc)
	if err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	}
	spared := s.selfAndParents()
	var found []Leftover
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || slices.Contains(spared, pid) || !s.belongs(pid, place) {
			continue
		}
		// A process that ends meanwhile is no leftover.
		if id, ok := s.identify(pid); ok {
			found = append(found, Leftover{
				Kind: Process, Name: strconv.Itoa(pid), Detail: strings.Join(s.arguments(pid), " "), process: id,
			})
		}
	}
	slices.SortStableFunc(found, func(a, b Leftover) int { return rank(a) - rank(b) })
	return found, nil
}

func rank(process Leftover) int {
	program, _, _ := strings.Cut(process.Detail, " ")
	if filepath.Base(program) == "containerd" {
		return 0
	}
	return 1
}

// belongs tells whether a process runs a program of this root, or is a runtime
// program that was given a path of this root.
func (s system) belongs(pid int, place Place) bool {
	program, err := os.Readlink(s.of(pid, "exe"))
	if err != nil {
		return false
	}
	program = strings.TrimSuffix(program, " (deleted)")
	if below(program, place.Root) {
		return true
	}
	if !slices.Contains(runtimePrograms, filepath.Base(program)) {
		return false
	}
	return slices.ContainsFunc(s.arguments(pid), func(argument string) bool {
		if _, value, found := strings.Cut(argument, "="); found && strings.HasPrefix(argument, "-") {
			argument = value
		}
		return place.holds(resolve(strings.TrimPrefix(argument, "unix://")))
	})
}

// selfAndParents are this process and those that started it: a lifepod that
// lies below its own root is not its own leftover.
func (s system) selfAndParents() []int {
	pids := []int{os.Getpid()}
	for pid := os.Getpid(); pid > 1; {
		fields := s.stat(pid)
		if len(fields) < 2 {
			break
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			break
		}
		pids = append(pids, parent)
		pid = parent
	}
	return pids
}

func (s system) of(pid int, name string) string {
	return filepath.Join(s.proc, strconv.Itoa(pid), name)
}

func (s system) arguments(pid int) []string {
	raw, err := os.ReadFile(s.of(pid, "cmdline"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
}

// stat returns the fields of /proc/PID/stat from the third, the state, on. The
// second may hold spaces and parentheses.
func (s system) stat(pid int) []string {
	raw, err := os.ReadFile(s.of(pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
}

// identify reports false about a process that has ended, zombies included.
func (s system) identify(pid int) (identity, bool) {
	const state, start = 0, 19 // the third and the 22nd field of proc_pid_stat(5)
	fields := s.stat(pid)
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return identity{}, false
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	return identity{pid: pid, startTicks: ticks}, err == nil
}
