package handler

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/prometheus/procfs"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// a container in which two commands run, 10 and 20, of which 10 has begun 11,
// and 11 has begun 12 in a session of its own; 30 is a daemon of the container's.
func twoCommands() *processView {
	return &processView{sessions: map[int]bool{}, held: []string{"a", "b", "c"}, recent: []process{
		{ID: pidfd.ID{PID: 10}, parent: 1, session: 10, entered: true, writes: []string{"a"}},
		{ID: pidfd.ID{PID: 11}, parent: 10, session: 10, writes: []string{"a"}},
		{ID: pidfd.ID{PID: 12}, parent: 11, session: 12},
		{ID: pidfd.ID{PID: 20}, parent: 1, session: 20, entered: true, writes: []string{"b"}},
		{ID: pidfd.ID{PID: 21}, parent: 20, session: 20, writes: []string{"b"}},
		{ID: pidfd.ID{PID: 30}, parent: 5, session: 30},
	}}
}

func (s *processView) claimed() (sessions []int) {
	for session := range s.sessions {
		sessions = append(sessions, session)
	}
	slices.Sort(sessions)
	return sessions
}

// TestUpTo: a container's cgroup, as runtimes name it, also if the container has made some of its own in it.
func TestUpTo(t *testing.T) {
	for path, want := range map[string]string{
		"/kubepods/besteffort/pod11-22/abc":                               "/kubepods/besteffort/pod11-22/abc",
		"/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope/in": "/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope",
		"/kubepods/pod1/def":                                              "",
		"/":                                                               "",
		"":                                                                "",
	} {
		got, found := upTo("abc", path)
		assert.True(t, found == (want != "") && (!found || got == want), "%q: %q, %v, want %q", path, got, found, want)
	}
	_, found := upTo("", "/")
	assert.True(t, !found, "a container without an ID has a cgroup")
}

// TestInMount: lifepod may see some cgroups of the machine only.
func TestInMount(t *testing.T) {
	const mount = "/sys/fs/cgroup/pids"
	assert.Equal(t, mount+"/lifepod/abc", inMount(mount, "/", "/lifepod/abc"), "on the machine")
	assert.Equal(t, mount+"/lifepod/abc", inMount(mount, "/docker/1", "/docker/1/lifepod/abc"), "in a container")
}

// TestClaim: A-PROBE-13: a command's own, in whatever session, and nothing else.
func TestClaim(t *testing.T) {
	s := twoCommands()
	s.claim(10)
	assert.Deep(t, "sessions", []int{10, 12}, s.claimed())
}

// TestClaimLeader: A-PROBE-13: a leader is known by its arguments; those of one
// command that runs twice by their order, or not at all if both are given up.
func TestClaimLeader(t *testing.T) {
	check, other := []string{"check"}, []string{"other"}
	first, second := &running{Command: Command{Args: check}}, &running{Command: Command{Args: check}}
	leader := func(pid int, start uint64, args []string) process {
		return process{ID: pidfd.ID{PID: pid, StartTicks: start}, parent: 1, session: pid, entered: true, args: args}
	}
	for _, tc := range []struct {
		name      string
		recent    []process
		same      []*running
		allEnding bool
		want      []int
		known     bool
	}{
		{"alone", []process{leader(20, 2, check), leader(10, 1, other)}, []*running{second}, true, []int{20}, true},
		{"not there yet", []process{leader(10, 1, other)}, []*running{second}, true, nil, false},
		{"the second of two", []process{leader(30, 3, check), leader(20, 2, check)}, []*running{first, second}, false, []int{30}, true},
		{"the second of two that began at once and has ended", []process{leader(30, 2, check), leader(20, 2, check)}, []*running{first, second}, false, []int{30}, true},
		{"one of two", []process{leader(20, 2, check)}, []*running{first, second}, false, nil, false},
		{"one of two, both given up", []process{leader(20, 2, check)}, []*running{first, second}, true, []int{20}, false},
		{"both given up", []process{leader(30, 3, check), leader(20, 2, check)}, []*running{first, second}, true, []int{20, 30}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &processView{sessions: map[int]bool{}, recent: tc.recent}
			s.meet(tc.same, tc.allEnding, [][]string{other})
			known := s.claimLeader(second)
			assert.True(t, known == tc.known && slices.Equal(s.claimed(), tc.want), "known %v, sessions %v, want %v, %v", known, s.claimed(), tc.known, tc.want)
		})
	}
}

// TestOrphans: what holds the output of a command that has ended is that
// command's, if there is only one such.
func TestOrphans(t *testing.T) {
	for _, tc := range []struct {
		name    string
		orphans []process
		want    []int
	}{
		{"none", nil, nil},
		{"one", []process{{ID: pidfd.ID{PID: 41}, session: 40, writes: []string{"c"}}, {ID: pidfd.ID{PID: 42}, session: 42, writes: []string{"c"}}}, []int{40, 42}},
		{"several", []process{{ID: pidfd.ID{PID: 41}, session: 40, writes: []string{"c"}}, {ID: pidfd.ID{PID: 51}, session: 50, writes: []string{"d"}}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := twoCommands()
			s.recent = append(s.recent, tc.orphans...)
			found := s.claimOrphans()
			assert.True(t, found == (tc.want != nil) && slices.Equal(s.claimed(), tc.want), "found %v, sessions %v, want %v", found, s.claimed(), tc.want)
		})
	}
}

// TestHadEnded: A-PROBE-13: a command has ended in time if only what it left was seen since.
func TestHadEnded(t *testing.T) {
	orphan := process{ID: pidfd.ID{PID: 41}, session: 40, writes: []string{"c"}}
	leader := process{ID: pidfd.ID{PID: 40}, session: 40, entered: true, ended: true}
	for _, tc := range []struct {
		name   string
		recent []process
		want   bool
	}{
		{"its own process was not seen", []process{orphan}, true},
		{"its own process has ended since", []process{orphan, leader}, false},
		{"nothing of it was seen", nil, false},
	} {
		s := twoCommands()
		s.recent = append(s.recent, tc.recent...)
		s.claimOrphans()
		assert.Equal(t, tc.want, s.hadEnded(), "%s: had ended", tc.name)
	}
}

// TestSignal: the processes of the command's sessions get it, and none that has come to the number of one.
func TestSignal(t *testing.T) {
	victim := exec.Command("sleep", "60")
	victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	assert.Must(t, victim.Start())
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	id := assert.Get(pidfd.Find(victim.Process.Pid)).Must(t)
	s := &processView{sessions: map[int]bool{}}
	s.claim(id.PID)
	for _, p := range []process{{ID: pidfd.ID{PID: id.PID, StartTicks: 1}, session: id.PID}, {ID: id, session: os.Getpid()}} {
		s.recent = []process{p}
		assert.True(t, !s.signal(syscall.SIGKILL), "killed for another: %v", p)
	}
	select {
	case err := <-ended:
		t.Fatalf("killed for another: %v", err)
	default:
	}
	s.recent = []process{{ID: id, session: id.PID}}
	for s.signal(syscall.SIGKILL) {
	}
	assert.Error(t, "signal: killed", <-ended, "ended")
}

// TestTicksNow: the clock of processes' start times.
func TestTicksNow(t *testing.T) {
	before := ticksNow()
	begun := exec.Command("true")
	assert.Must(t, begun.Start())
	proc := assert.Get(procfs.NewProc(begun.Process.Pid)).Must(t)
	stat := assert.Get(proc.Stat()).Must(t)
	after := ticksNow()
	assert.True(t, stat.Starttime+1 >= before && stat.Starttime <= after+1, "started at %d, between %d and %d", stat.Starttime, before, after)
	assert.NoError(t, begun.Wait())
}
