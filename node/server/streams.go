package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/proxy"
	translator "k8s.io/apiserver/pkg/util/proxy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	cristreaming "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/worker/podlog"
)

// answerTimeout is for the runtime to say where its streams are.
const answerTimeout = 30 * time.Second

// streams are those that a session in a container has.
type streams struct{ stdin, stdout, stderr, tty bool }

// streamsOf reads them of a query, in the names that API servers use.
func streamsOf(q url.Values) (streams, error) {
	s := streams{stdin: q.Get("input") == "1", stdout: q.Get("output") == "1", stderr: q.Get("error") == "1", tty: q.Get("tty") == "1"}
	if s.tty {
		s.stderr = false // a terminal has one output
	}
	if !s.stdin && !s.stdout && !s.stderr {
		return s, fmt.Errorf("you must specify at least 1 of stdin, stdout, stderr")
	}
	return s, nil
}

// exec runs a command in a container.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	wanted, err := streamsOf(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	container := r.PathValue("container")
	id := runningID(podlog.StatusOf(pod, container))
	if id == "" {
		refuse(w, http.StatusInternalServerError, fmt.Sprintf("container not found (%q)", container))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	response, err := s.Runtime.Exec(ctx, &runtimeapi.ExecRequest{
		ContainerId: id, Cmd: r.URL.Query()["command"],
		Stdin: wanted.stdin, Stdout: wanted.stdout, Stderr: wanted.stderr, Tty: wanted.tty,
	})
	s.stream(w, r, response.GetUrl(), err, wanted, nil)
}

// attach joins a container's own streams. Whether there is a terminal its spec says.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	wanted, err := streamsOf(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	container := r.PathValue("container")
	id := runningID(podlog.StatusOf(pod, container))
	if id == "" || !slices.Contains(control.ContainerNames(pod), container) {
		refuse(w, http.StatusInternalServerError, fmt.Sprintf("container %s not found in pod %s", container, fullName(pod)))
		return
	}
	tty, _ := control.TerminalOf(pod, container)
	missing := s.missing(pod, container)
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	response, err := s.Runtime.Attach(ctx, &runtimeapi.AttachRequest{
		ContainerId: id, Stdin: wanted.stdin, Stdout: wanted.stdout, Stderr: wanted.stderr && !tty, Tty: tty,
	})
	s.stream(w, r, response.GetUrl(), err, wanted, missing)
}

// stream serves a session whose streams the runtime's streaming server has. A client speaks SPDY or WebSockets up to
// v4.channel.k8s.io; v5, by which it can close its input, is translated to SPDY (KEP-4006).
func (s *Server) stream(w http.ResponseWriter, r *http.Request, to string, err error, wanted streams, missing *missing) {
	target, ok := target(w, to, err)
	if !ok {
		return
	}
	transport := s.relay(r, func(w http.ResponseWriter, r *http.Request) {
		options := &cristreaming.Options{Stdin: wanted.stdin, Stdout: wanted.stdout, Stderr: wanted.stderr, TTY: wanted.tty}
		cristreaming.ServeExec(w, r, session{target, wanted, missing}, "", "", "", nil, options, 0, answerTimeout, sessionProtocols)
	})
	if wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		translator.NewStreamTranslatorHandler(relayed, transport, 0, translator.Options{
			Stdin: wanted.stdin, Stdout: wanted.stdout, Stderr: wanted.stderr, Tty: wanted.tty,
		}).ServeHTTP(w, r)
		return
	}
	s.upgrade(transport).ServeHTTP(w, r)
}

func (s *Server) upgrade(to *http.Transport) http.Handler {
	return proxy.NewUpgradeAwareHandler(relayed, to, false, true, responder{s.Log})
}

// target is where the runtime has said that its streams are; if it has not, the
// request is answered.
func target(w http.ResponseWriter, to string, err error) (*url.URL, bool) {
	if err != nil {
		code := http.StatusInternalServerError
		switch status.Code(err) {
		case codes.NotFound:
			code = http.StatusNotFound
		case codes.ResourceExhausted:
			w.Header().Set("Retry-After", "60")
			code = http.StatusTooManyRequests
		}
		refuse(w, code, err.Error())
		return nil, false
	}
	target, err := url.Parse(to)
	if err != nil || target.Host == "" {
		refuse(w, http.StatusInternalServerError, fmt.Sprintf("the runtime's streaming address %q is none", to))
		return nil, false
	}
	return target, true
}

// responder answers when a session can't begin.
type responder struct{ log *slog.Logger }

// Error answers.
func (r responder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	r.log.Warn("can't begin a session in a container", "err", err)
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// run runs a command and answers what it wrote, when it has ended.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	pod, ok := s.podOf(w, r)
	if !ok {
		return
	}
	container := r.PathValue("container")
	id := runningID(podlog.StatusOf(pod, container))
	if id == "" {
		refuse(w, http.StatusInternalServerError, fmt.Sprintf("container not found (%q)", container))
		return
	}
	command := strings.Split(r.FormValue("cmd"), " ")
	response, err := s.Runtime.ExecSync(r.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: command})
	if err == nil && response.ExitCode != 0 {
		err = fmt.Errorf("command '%s' exited with %d: %s", strings.Join(command, " "), response.ExitCode, response.Stderr)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json") // as the kubelet says, whatever it is
	_, _ = w.Write(append(response.Stdout, response.Stderr...))
}
