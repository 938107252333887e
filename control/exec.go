package control

import (
	"context"
	"net/http"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

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
	container, id, err := runningContainer(pod, r)
	if err != nil {
		return err
	}
	if !flag(r, "stdin") && !flag(r, "stdout") && !flag(r, "stderr") {
		return badRequest("want at least one of stdin, stdout and stderr")
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	session, err := s.Commands.Begin(ctx, id, command)
	if err != nil {
		return err
	}
	end := sync.OnceFunc(func() {
		if err := session.End(); err != nil {
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
	container, id, err := runningContainer(pod, r)
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
