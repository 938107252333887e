package control

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/control/execprocess"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/worker/criconfig"
)

const (
	// startTime is for a command to appear in its container while no other begins there.
	startTime = 2 * time.Second
	// recognition is how long it may take altogether, on a starved machine; after
	// its turn it is known by its arguments only.
	recognition = 12 * time.Second
	firstLook   = 10 * time.Millisecond
	longestLook = 100 * time.Millisecond // between two
	endTimeout  = 10 * time.Second       // for a command whose client has gone to end
)

// sessions are the commands that run in containers for clients. In each
// container they begin one after the other, so that each is recognised.
type sessions struct {
	own [][]string // commands that lifepod itself runs: probes and hooks

	mu    sync.Mutex
	begun map[string]*slot // by container ID; no longer than somebody begins there
}

// slot lets commands begin in a container one after the other.
type slot struct {
	free  chan struct{} // has room for the one that begins
	users int           // who begin, or wait for it
}

func newSessions(pod *v1.Pod) *sessions {
	s := &sessions{begun: map[string]*slot{}}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			s.own = append(s.own, ownCommands(&list[i])...)
		}
	}
	return s
}

// ownCommands are the exec actions of a container's probes and hooks, as they
// are run: variables in a probe's are replaced.
func ownCommands(c *v1.Container) (commands [][]string) {
	for _, p := range []*v1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if p != nil && p.Exec != nil {
			commands = append(commands, criconfig.ExpandLiterally(p.Exec.Command, c.Env))
		}
	}
	if c.Lifecycle == nil {
		return commands
	}
	for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if h != nil && h.Exec != nil {
			commands = append(commands, h.Exec.Command)
		}
	}
	return commands
}

// session is one command.
type session struct {
	sessions  *sessions
	command   []string
	container execprocess.Container
	known     bool       // the container's processes can be seen
	before    []pidfd.ID // what ran there already
	leave     func()     // lets the next one begin
	over      chan struct{}
	looked    sync.WaitGroup
	process   *pidfd.ID // written before looked is done
}

// begin prepares a command in a container, when no other one is beginning there.
func (s *sessions) begin(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, id string, command []string) (*session, error) {
	leave, err := s.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	n := &session{sessions: s, command: command, leave: leave, over: make(chan struct{})}
	if pid := cri.PID(ctx, runtime, id); pid != 0 {
		container, err := execprocess.Of(pid)
		if err == nil {
			n.container = container
			n.before, err = container.ExecProcesses()
		}
		n.known = err == nil
	}
	n.looked.Go(n.recognise)
	return n, nil
}

// enter waits until no other command begins in a container. leave is to be called once.
func (s *sessions) enter(ctx context.Context, id string) (leave func(), _ error) {
	s.mu.Lock()
	place := s.begun[id]
	if place == nil {
		place = &slot{free: make(chan struct{}, 1)}
		s.begun[id] = place
	}
	place.users++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if place.users--; place.users == 0 {
			delete(s.begun, id)
		}
	}
	select {
	case place.free <- struct{}{}:
		return func() { <-place.free; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}

// recognise looks for the command's process until it is there. The next command
// begins when it is, or after a while.
func (n *session) recognise() {
	release := sync.OnceFunc(n.leave)
	defer release()
	begun, limit := time.Now(), time.NewTimer(recognition)
	defer limit.Stop()
	defer time.AfterFunc(startTime, release).Stop()
	for pause := firstLook; n.known && !n.look(time.Since(begun) < startTime); pause = min(2*pause, longestLook) {
		select {
		case <-time.After(pause):
		case <-n.over:
			n.look(time.Since(begun) < startTime)
			return
		case <-limit.C:
			return
		}
	}
}

// look reports whether the command's process is there. In its turn it is the one
// that is new, whatever it has become since.
func (n *session) look(aloneStarting bool) bool {
	processes, err := n.container.ExecProcesses()
	if err != nil {
		return true // the container has ended, and all in it
	}
	for _, p := range processes {
		arguments := pidfd.Arguments(p.PID)
		own := slices.ContainsFunc(n.sessions.own, func(c []string) bool { return slices.Equal(c, arguments) })
		if slices.Contains(n.before, p) || (own || !aloneStarting) && !slices.Equal(arguments, n.command) {
			continue
		}
		n.process = &p
		return true
	}
	return false
}

// end ends the command, if it still runs.
func (n *session) end() error {
	close(n.over)
	n.looked.Wait()
	if n.process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	return n.container.End(ctx, *n.process)
}

// answerTimeout is for the runtime to say where its streams are, and for another
// command to begin in the same container.
const answerTimeout = 30 * time.Second

// exec runs a command in a container. When its client goes away before it has
// ended, it is ended.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	command := q["command"]
	if len(command) == 0 || command[0] == "" {
		return badRequest("no command to run")
	}
	pod := s.Object.Pod()
	container, err := containerOf(pod, r)
	if err != nil {
		return err
	}
	id, err := runningID(pod, container)
	if err != nil {
		return err
	}
	if !flag(r, "stdin") && !flag(r, "stdout") && !flag(r, "stderr") {
		return badRequest("want at least one of stdin, stdout and stderr")
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	session, err := s.sessions.begin(ctx, s.Runtime, id, command)
	if err != nil {
		return err
	}
	end := sync.OnceFunc(func() {
		if err := session.end(); err != nil {
			s.Log.Warn("can't end a command whose client has gone", "container", container, "command", command, "err", err)
		}
	})
	defer end()
	response, err := s.Runtime.Exec(ctx, &runtimeapi.ExecRequest{
		ContainerId: id, Cmd: command, Tty: flag(r, "tty"),
		Stdin: flag(r, "stdin"), Stdout: flag(r, "stdout"), Stderr: flag(r, "stderr") && !flag(r, "tty"),
	})
	if err != nil {
		return conflict("run a command in container %s: %s", container, cri.Text(err))
	}
	return tunnel(w, r, response.Url, end)
}

// attach joins a container's own streams.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) error {
	pod := s.Object.Pod()
	container, err := containerOf(pod, r)
	if err != nil {
		return err
	}
	id, err := runningID(pod, container)
	if err != nil {
		return err
	}
	tty, stdin := TerminalOf(pod, container)
	if flag(r, "stdin") && !stdin {
		return conflict("container %s has no standard input: its spec does not say stdin: true", container)
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	response, err := s.Runtime.Attach(ctx, &runtimeapi.AttachRequest{
		ContainerId: id, Tty: tty,
		Stdin: flag(r, "stdin"), Stdout: flag(r, "stdout"), Stderr: flag(r, "stderr") && !tty,
	})
	if err != nil {
		return conflict("attach to container %s: %s", container, cri.Text(err))
	}
	return tunnel(w, r, response.Url, func() {})
}
