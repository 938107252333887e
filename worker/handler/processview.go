package handler

import (
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// processView is what is known of the processes of a container when a command in it was
// given up.
type processView struct {
	containerID string
	since       uint64 // when the command was begun
	fs          procfs.FS
	first       process      // the container's
	shim        procfs.Proc  // the runtime's process that reads the commands' output
	held        []string     // its pipes, those it had before as well
	recent      []process    // what has begun in the container since the command
	sessions    map[int]bool // those that are the command's

	same      []*running // the same command, as often as it was seen to run meanwhile
	allEnding bool       // all of them were given up
	others    [][]string // the arguments of other commands that run
}

// newProcessView is the container whose first process has that number.
func newProcessView(containerID string, pid int, since uint64) (*processView, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	s := &processView{containerID: containerID, since: since, fs: fs, sessions: map[int]bool{}}
	proc, err := fs.Proc(pid)
	if err != nil {
		return nil, err
	}
	var ok bool
	if s.first, ok = read(proc); !ok || !s.has(proc) { // its number is another's here, in another PID namespace
		return nil, os.ErrProcessDone
	}
	s.shim, err = fs.Proc(s.first.parent)
	return s, err
}

// look reads what has begun in the container; it may be asked for again, for
// what has begun meanwhile.
func (s *processView) look() {
	s.held = slices.Compact(slices.Sorted(slices.Values(append(s.held, pipes(s.shim)...))))
	var others []string // pipes of what else is in the container, such as its own output
	var recent []process
	for p, proc := range s.all() {
		switch {
		case !s.has(proc):
		case p.StartTicks+1 < s.since || p.session == s.first.session: // start times are rounded down
			others = append(others, pipes(proc)...)
		default:
			p.writes = pipes(proc)
			if p.entered = p.PID == p.session && !s.hasPID(p.parent); p.entered {
				p.args = pidfd.Arguments(p.PID)
			}
			recent = append(recent, p)
		}
	}
	for i := range s.recent {
		s.recent[i].ended = true
	}
	for _, p := range recent {
		p.writes = slices.DeleteFunc(p.writes, func(pipe string) bool {
			return !slices.Contains(s.held, pipe) || slices.Contains(others, pipe)
		})
		s.recent = slices.DeleteFunc(s.recent, func(o process) bool { return o.PID == p.PID })
		s.recent = append(s.recent, p)
	}
}

// kill kills the process and none that has come to its number since.
func kill(p process) {
	target, err := pidfd.Open(p.ID)
	if err != nil {
		return // it has ended
	}
	defer target.Close()
	_ = target.Signal(unix.SIGKILL) // another look tells whether it has ended
}

// all are the machine's processes.
func (s *processView) all() iter.Seq2[process, procfs.Proc] {
	return func(yield func(process, procfs.Proc) bool) {
		list, _ := s.fs.AllProcs() // none, if there is no /proc
		for _, proc := range list {
			if p, ok := read(proc); ok && !yield(p, proc) {
				return
			}
		}
	}
}

func (s *processView) hasPID(pid int) bool {
	proc, err := s.fs.Proc(pid)
	return err == nil && s.has(proc)
}

// has says that a process is in the container: its cgroup, or one above it, has
// the container's ID in its name, whichever way the runtime names cgroups.
func (s *processView) has(proc procfs.Proc) bool {
	groups, _ := proc.Cgroups() // none, if it has ended
	return slices.ContainsFunc(groups, func(g procfs.Cgroup) bool { return strings.Contains(g.Path, s.containerID) })
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

// process is one of the machine, as far as it is known.
type process struct {
	pidfd.ID
	parent, session int
	writes          []string // the outputs it has that the shim reads, for recent ones
	entered         bool     // begun by the runtime, not from inside the container
	args            []string // of one that entered
	ended           bool     // it was not there any more at the last look
}

// read is a process that has not ended.
func read(proc procfs.Proc) (process, bool) {
	stat, err := pidfd.Stat(proc)
	return process{ID: pidfd.Of(stat), parent: stat.PPID, session: stat.Session}, err == nil
}

// pipes are those that a process has open.
func pipes(proc procfs.Proc) []string {
	targets, _ := proc.FileDescriptorTargets() // none, if it has ended
	return slices.DeleteFunc(targets, func(t string) bool { return !strings.HasPrefix(t, "pipe:") })
}
