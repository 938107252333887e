package command

import (
	"cmp"
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
	containerID string
	since       uint64 // when the command was begun
	fs          procfs.FS
	first       process      // the container's
	keeper      procfs.Proc  // the runtime's process that reads the commands' output
	held        []string     // its pipes, those it had before as well
	recent      []process    // what has begun in the container since the command
	sessions    map[int]bool // those that are the command's

	same      []*running // the same command, as often as it was seen to run meanwhile
	allEnding bool       // all of them were given up
	others    [][]string // the arguments of other commands that run
}

type process struct {
	pid, parent, session int
	start                uint64
	writes               []string // the outputs it has that the keeper reads, for recent ones
	entered              bool     // begun by the runtime, not from inside the container
	args                 []string // of one that entered
	ended                bool     // it was not there any more at the last look
}

// newScene is the container whose first process has that number.
func newScene(containerID string, pid int, since uint64) (*scene, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	s := &scene{containerID: containerID, since: since, fs: fs, sessions: map[int]bool{}}
	proc, err := fs.Proc(pid)
	if err != nil {
		return nil, err
	}
	var ok bool
	if s.first, ok = read(proc); !ok || !s.has(proc) { // its number is another's here, in another PID namespace
		return nil, os.ErrProcessDone
	}
	s.keeper, err = fs.Proc(s.first.parent)
	return s, err
}

// look reads what has begun in the container; it may be asked for again, for
// what has begun meanwhile.
func (s *scene) look() {
	s.held = append(s.held, pipes(s.keeper)...)
	var others []string // pipes of what else is in the container, such as its own output
	var recent []process
	for p, proc := range s.all() {
		switch {
		case !s.has(proc):
		case p.start+1 < s.since || p.session == s.first.session: // start times are rounded down
			others = append(others, pipes(proc)...)
		default:
			p.writes = pipes(proc)
			if p.entered = p.pid == p.session && !s.hasPID(p.parent); p.entered {
				p.args, _ = proc.CmdLine() // none, if it has ended
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
		s.recent = slices.DeleteFunc(s.recent, func(o process) bool { return o.pid == p.pid })
		s.recent = append(s.recent, p)
	}
}

// meet notes what else runs in the container.
func (s *scene) meet(same []*running, allEnding bool, others [][]string) {
	for _, c := range same {
		if !slices.Contains(s.same, c) {
			s.same = append(s.same, c)
		}
		s.since = min(s.since, c.began)
	}
	s.allEnding, s.others = allEnding, others
}

// claimLeader claims the session of the command's leader; false if that is not
// known. The leaders of one command that runs several times are told apart by
// their order.
func (s *scene) claimLeader(c *running) bool {
	var leaders []process
	for _, p := range s.recent {
		if p.entered && slices.Equal(p.args, c.Args) {
			leaders = append(leaders, p)
		}
	}
	slices.SortFunc(leaders, func(a, b process) int { return cmp.Compare(a.start, b.start) })
	all := len(leaders) >= len(s.same)
	for i, p := range leaders {
		if s.allEnding || all && i == slices.Index(s.same, c) {
			s.claim(p.session)
		}
	}
	return all
}

// isStranger says that a process leads a session of a command that isn't known.
func (s *scene) isStranger(p process, c *running) bool {
	return p.entered && !slices.Equal(p.args, c.Args) &&
		!slices.ContainsFunc(s.others, func(args []string) bool { return slices.Equal(p.args, args) })
}

func (s *scene) hasStrangers(c *running) bool {
	return slices.ContainsFunc(s.recent, func(p process) bool { return s.isStranger(p, c) && !p.ended })
}

// claimEnded claims the sessions of strangers that the runtime has ended; false
// until it has.
func (s *scene) claimEnded(c *running) bool {
	for _, p := range s.recent {
		if s.isStranger(p, c) && p.ended {
			s.claim(p.session)
		}
	}
	return len(s.sessions) > 0
}

// claimOrphans claims what a command has left that ended before it was given up:
// it holds an output of which nobody that lives is the owner. If there are
// several such commands, it can't be told which one's it is.
func (s *scene) claimOrphans() bool {
	var orphans []process
	for _, p := range s.recent {
		if len(p.writes) > 0 && !p.ended && !s.hasOwner(p) {
			orphans = append(orphans, p)
		}
	}
	for _, p := range orphans {
		if !overlap(p.writes, orphans[0].writes) {
			return false
		}
	}
	for _, p := range orphans {
		s.claim(p.session)
	}
	return len(orphans) > 0 || len(s.sessions) > 0
}

func (s *scene) hasOwner(p process) bool {
	return slices.ContainsFunc(s.recent, func(o process) bool { return o.entered && !o.ended && overlap(o.writes, p.writes) })
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

// claim says that a session is the command's, and so is what it has begun in others.
func (s *scene) claim(session int) {
	s.sessions[session] = true
	for range s.recent {
		for _, p := range s.recent {
			if s.begunByCommand(p) {
				s.sessions[p.session] = true
			}
		}
	}
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

func (s *scene) hasPID(pid int) bool {
	proc, err := s.fs.Proc(pid)
	return err == nil && s.has(proc)
}

// has says that a process is in the container: its cgroup, or one above it, has
// the container's ID in its name, whichever way the runtime names cgroups.
func (s *scene) has(proc procfs.Proc) bool {
	groups, _ := proc.Cgroups() // none, if it has ended
	return slices.ContainsFunc(groups, func(g procfs.Cgroup) bool { return strings.Contains(g.Path, s.containerID) })
}
