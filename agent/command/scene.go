package command

import (
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

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

// scene is a container when a command in it was given up.
type scene struct {
	fs       procfs.FS
	keeper   procfs.Proc  // the runtime's process that reads the commands' output
	held     []string     // its pipes
	recent   []process    // what has begun in the container since the command
	sessions map[int]bool // those that are the command's
}

type process struct {
	pid, parent, session int
	start                uint64
	writes               []string // the pipes of the keeper that it has, for recent ones
	entered              bool     // begun by the runtime, not from inside the container
}

// look reads what has begun since then in the container with that first process.
func look(pid int, since uint64) (*scene, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	s := &scene{fs: fs, sessions: map[int]bool{}}
	first, err := fs.Proc(pid)
	if err != nil {
		return nil, err
	}
	inside, ok := read(first)
	if !ok {
		return nil, os.ErrProcessDone
	}
	if s.keeper, err = fs.Proc(inside.parent); err != nil {
		return nil, err
	}
	s.held = pipes(s.keeper)
	group := cgroup(first)
	for p, proc := range s.all() {
		// start times are rounded down
		if p.start+1 >= since && p.session != inside.session && cgroup(proc) == group {
			p.writes = slices.DeleteFunc(pipes(proc), func(pipe string) bool { return !slices.Contains(s.held, pipe) })
			p.entered = p.pid == p.session && s.cgroupOf(p.parent) != group
			s.recent = append(s.recent, p)
		}
	}
	return s, nil
}

// notice looks which of the recent processes are the command's, by what the
// runtime has ended meanwhile; false until it has given all up.
func (s *scene) notice() bool {
	held := pipes(s.keeper)
	given := len(s.recent) == 0
	for _, p := range s.recent {
		closed := len(p.writes) > 0 && !slices.ContainsFunc(p.writes, func(pipe string) bool { return slices.Contains(held, pipe) })
		if closed || p.entered && !s.lives(p) {
			s.sessions[p.session] = true
			given = given || closed || len(p.writes) == 0
		}
	}
	for range s.recent { // what they have begun is theirs, in whatever session
		for _, p := range s.recent {
			s.sessions[p.session] = s.sessions[p.session] || s.begunByCommand(p)
		}
	}
	return given
}

func (s *scene) begunByCommand(p process) bool {
	return slices.ContainsFunc(s.recent, func(parent process) bool { return parent.pid == p.parent && s.sessions[parent.session] })
}

// killLeft kills what is left of the command; false if nothing is.
func (s *scene) killLeft() bool {
	left := false
	for p := range s.all() {
		if s.sessions[p.session] {
			left = true
			s.kill(p)
		}
	}
	return left
}

// kill kills the process and none that has come to its number since.
func (s *scene) kill(p process) {
	target, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = target.Release() }() // it holds no more than a descriptor
	if s.lives(p) {
		_ = target.Kill() // it has ended, otherwise
	}
}

func (s *scene) lives(p process) bool {
	proc, err := s.fs.Proc(p.pid)
	if err != nil {
		return false
	}
	now, ok := read(proc)
	return ok && now.start == p.start
}

// all are the machine's processes.
func (s *scene) all() iter.Seq2[process, procfs.Proc] {
	return func(yield func(process, procfs.Proc) bool) {
		list, _ := s.fs.AllProcs() // none, if there is no /proc
		for _, proc := range list {
			if p, ok := read(proc); ok && !yield(p, proc) {
				return
			}
		}
	}
}

// read is a process that has not ended.
func read(proc procfs.Proc) (process, bool) {
	stat, err := proc.Stat()
	if err != nil || stat.State == "Z" || stat.State == "X" {
		return process{}, false
	}
	return process{pid: proc.PID, parent: stat.PPID, session: stat.Session, start: stat.Starttime}, true
}

// pipes are those that a process has open.
func pipes(proc procfs.Proc) []string {
	targets, _ := proc.FileDescriptorTargets() // none, if it has ended
	return slices.DeleteFunc(targets, func(t string) bool { return !strings.HasPrefix(t, "pipe:") })
}

func (s *scene) cgroupOf(pid int) string {
	proc, err := s.fs.Proc(pid)
	if err != nil {
		return ""
	}
	return cgroup(proc)
}

func cgroup(proc procfs.Proc) string {
	groups, _ := proc.Cgroups() // none, if it has ended
	var all strings.Builder
	for _, g := range groups {
		all.WriteString(g.Path + "\n")
	}
	return all.String()
}
