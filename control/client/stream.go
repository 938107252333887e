package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/streaming"
	"github.com/lifepod/lifepod/cri"
)

// Streams are the user's ends of a session in a container; nil ones are not used.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool                            // the session has a terminal; then it has no stderr
	Sizes          remotecommand.TerminalSizeQueue // of the user's terminal; may be nil
}

// Exec runs a command in a container and returns its exit code. When ctx ends
// the command is ended.
func (p *Pod) Exec(ctx context.Context, container string, command []string, s Streams) (int, error) {
	err := p.stream(ctx, "/exec", url.Values{"container": {container}, "command": command}, s)
	if errors.Is(err, streaming.ErrLost) {
		return 0, &LostError{Before: "the command's end"}
	}
	if exit, ok := errors.AsType[exec.CodeExitError](err); ok {
		return exit.Code, nil
	}
	if err != nil && ctx.Err() == nil {
		return startFailure(err)
	}
	return 0, err
}

// StartError says that a command could not be started.
type StartError struct {
	Code int // what a shell would exit with
	Text string
}

func (e *StartError) Error() string { return "the command could not be started: " + e.Text }

// Exit codes of a command that could not be started, as shells have them.
const (
	notExecutable = 126
	notFound      = 127
)

// startFailure gives the refusal of a runtime to start a command the exit code
// that a shell would give it.
func startFailure(err error) (int, error) {
	_, text, found := strings.Cut(err.Error(), "unable to start container process: ")
	if !found {
		return 0, errors.New(cri.Reason(err.Error()))
	}
	failure := &StartError{Text: strings.TrimSpace(cri.Reason(text)), Code: notExecutable}
	if strings.Contains(text, "executable file not found") || strings.Contains(text, "no such file or directory") {
		failure.Code = notFound
	}
	return failure.Code, failure
}

// Attach joins a container's own streams until they end or ctx does.
func (p *Pod) Attach(ctx context.Context, container string, s Streams) error {
	err := p.stream(ctx, "/attach", url.Values{"container": {container}}, s)
	if errors.Is(err, streaming.ErrLost) {
		return &LostError{Before: "the container's streams ended"}
	}
	return err
}

// stream speaks Kubernetes' remote command protocol through the pod's socket.
func (p *Pod) stream(ctx context.Context, below string, query url.Values, s Streams) error {
	klog.SetLogger(logr.Discard()) // it would log connections that break to stderr
	set := func(name string, used bool) {
		if used {
			query.Set(name, "true")
		}
	}
	set("stdin", s.Stdin != nil)
	set("stdout", s.Stdout != nil)
	set("stderr", s.Stderr != nil && !s.TTY)
	set("tty", s.TTY)
	target := &url.URL{Scheme: "http", Host: "lifepod", Path: p.path(below), RawQuery: query.Encode()}
	options := remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Tty: s.TTY, TerminalSizeQueue: s.Sizes}
	if !s.TTY {
		options.Stderr = s.Stderr
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dialUntil(ctx) }}
	err := streaming.Run(ctx, transport, target, options)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if text, refused := strings.CutPrefix(err.Error(), "unable to upgrade connection: "); refused {
			return errors.New(text)
		}
	}
	return err
}

// dialUntil connects to the pod's socket and closes the connection when ctx
// ends: the protocol itself does not look at ctx before it has its answer, which
// a runtime that hangs never gives.
func (p *Pod) dialUntil(ctx context.Context) (net.Conn, error) {
	conn, err := control.Dial(p.socket)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}
