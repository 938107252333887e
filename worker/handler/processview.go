package handler

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// processView is what is known of the processes of a container since a command was begun
// there.
type processView struct {
	first    process      // the container's; its parent is the runtime's process that reads the commands' output
	cgroup   string       // the container's, of any one controller
	since    uint64       // when the command was begun
	held     []string     // pipes of the runtime's process, those it had before as well
	recent   []process    // what has begun in the container since the command
	sessions map[int]bool // those that are the command's

	same      []*running // the same command, as often as it was seen to run meanwhile
	allEnding bool       // all of them were given up
	others    [][]string // the arguments of other commands that run
}

// newProcessView is the container whose first process has that number.
func newProcessView(containerID string, pid int, since uint64) (*processView, error) {
	cgroup, err := cgroupOf(containerID, pid)
	if err != nil {
		return nil, err
	}
	first, err := read(pid)
	return &processView{first: first, cgroup: cgroup, since: since, sessions: map[int]bool{}}, err
}

// cgroupOf is the folder of a container's cgroup: the one that has the container's ID in its name,
// whichever way the runtime names cgroups, with all that the container has made below. There is none
// if the process's number is another's here, in another PID namespace.
func cgroupOf(containerID string, pid int) (string, error) {
	paths, err := cgroups.ParseCgroupFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", fmt.Errorf("find the container's cgroup: %w", err)
	}
	const mounts = "/sys/fs/cgroup"
	if cgroups.IsCgroup2UnifiedMode() {
		if path, found := upTo(containerID, paths[""]); found {
			return filepath.Join(mounts, path), nil
		}
	}
	for _, controller := range []string{"pids", "memory", "cpu", "freezer"} { // of version 1
		if path, found := upTo(containerID, paths[controller]); found {
			mount, root, err := cgroups.FindCgroupMountpointAndRoot(mounts, controller)
			if err != nil {
				return "", fmt.Errorf("find the container's cgroup: %w", err)
			}
			return inMount(mount, root, path), nil
		}
	}
	return "", fmt.Errorf("find the container's cgroup: process %d is in none that is named after the container", pid)
}

// inMount is the folder of a cgroup where no more than those below root are mounted: in a docker container with the machine's cgroup
// namespace these are its own.
func inMount(mount, root, cgroup string) string {
	return filepath.Join(mount, strings.TrimPrefix(cgroup, root))
}

// upTo is a path up to the part that has the ID in it; false if none has.
func upTo(id, path string) (string, bool) {
	above, below, found := strings.Cut(path, id)
	suffix, _, _ := strings.Cut(below, "/")
	return above + id + suffix, found && id != ""
}

// look reads what has begun in the container, and gives what was there before: nothing, if the container
// has ended. It may be asked for again, for what has begun meanwhile.
func (s *processView) look() (older []process) {
	inside, err := s.processes()
	if err != nil {
		return nil // another look tells
	}
	for i := range s.recent {
		s.recent[i].ended = true
	}
	for _, pid := range slices.Sorted(maps.Keys(inside)) {
		p := inside[pid]
		if p.StartTicks+1 < s.since || p.session == s.first.session { // start times are rounded down
			older = append(older, p)
			continue
		}
		s.recent = append(slices.DeleteFunc(s.recent, func(o process) bool { return o.PID == pid }), p)
	}
	return older
}

// lookAtOutputs is look, which also reads who has the outputs of commands.
func (s *processView) lookAtOutputs() {
	s.held = slices.Compact(slices.Sorted(slices.Values(append(s.held, pipes(s.first.parent)...))))
	older := s.look()
	if len(older) == 0 {
		return
	}
	var others []string // pipes of what else is in the container, such as its own output
	for _, p := range older {
		others = append(others, pipes(p.PID)...)
	}
	for i := range s.recent {
		if p := &s.recent[i]; !p.ended {
			p.writes = slices.DeleteFunc(pipes(p.PID), func(pipe string) bool {
				return !slices.Contains(s.held, pipe) || slices.Contains(others, pipe)
			})
		}
	}
}

// processes are those of the container, by PID.
func (s *processView) processes() (map[int]process, error) {
	pids, err := pidfd.InCgroups(s.cgroup)
	inside := map[int]process{}
	for pid := range pids {
		if p, err := read(pid); err == nil {
			inside[pid] = p
		}
	}
	for pid, p := range inside {
		if _, child := inside[p.parent]; !child {
			p.outside, p.entered, p.args = true, pid == p.session, pidfd.Arguments(pid)
			inside[pid] = p
		}
	}
	return inside, err
}

// process is one of a container, as far as it is known.
type process struct {
	pidfd.ID
	parent, session int
	outside         bool     // its parent is not in the container: that is the runtime, or what takes orphans if PIDs are shared
	entered         bool     // begun by the runtime, and the leader of a session
	args            []string // of one whose parent is outside
	writes          []string // the outputs it has that the runtime reads, for recent ones
	ended           bool     // it was not there any more at the last look
}

// read is a process that has not ended.
func read(pid int) (process, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return process{}, err
	}
	stat, err := pidfd.Stat(proc)
	return process{ID: pidfd.Of(stat), parent: stat.PPID, session: stat.Session}, err
}

// pipes are those that a process has open.
func pipes(pid int) []string {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return nil // it has ended
	}
	targets, _ := proc.FileDescriptorTargets() // none, if it has ended
	return slices.DeleteFunc(targets, func(t string) bool { return !strings.HasPrefix(t, "pipe:") })
}

// signal sends a signal to what is left of the command; false if nothing is.
func (s *processView) signal(sig unix.Signal) (left bool) {
	for _, p := range s.recent {
		if s.sessions[p.session] && send(p.ID, sig) {
			left = true
		}
	}
	return left
}

// send reaches the process and none that has come to its number since; false if it has ended.
func send(id pidfd.ID, sig unix.Signal) bool {
	target, err := pidfd.Open(id)
	if err != nil {
		return !errors.Is(err, pidfd.ErrEnded)
	}
	defer target.Close()
	_ = target.Signal(sig) // whether it has ended is seen the next time
	return true
}

// ticksPerSecond is the unit of a process's start time; it is the same on every
// machine that Go runs on.
const ticksPerSecond = 100

// ticksNow is now as a process's start time.
func ticksNow() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return uint64(t.Nano()) / (1e9 / ticksPerSecond)
}
