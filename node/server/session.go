package server

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	cristreaming "k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/lifepod/lifepod/control/streaming"
)

// sessionProtocols are those that clients may speak, the best first.
var sessionProtocols = []string{
	cristreaming.StreamProtocolV4Name, cristreaming.StreamProtocolV3Name, cristreaming.StreamProtocolV2Name, cristreaming.StreamProtocolV1Name,
}

// errEnding ends sessions with the node.
var errEnding = errors.New("the node's API is ending")

// session is a command, or a container's own streams, at the runtime's streaming server.
type session struct {
	target  *url.URL
	wanted  streams
	missing *missing // of a container's own output; nil: nothing can be
}

// ExecInContainer has the session until its end, which it returns.
func (s session) ExecInContainer(ctx context.Context, _, _, _ string, _ []string, in io.Reader, out, stderr io.WriteCloser, tty bool, resize <-chan cristreaming.TerminalSize, _ time.Duration) error {
	o := remotecommand.StreamOptions{Tty: tty}
	// A WebSocket has channels for all streams. The runtime takes only those that it was asked for.
	if s.wanted.stdin {
		o.Stdin = in
	}
	if s.wanted.stdout {
		o.Stdout = out
	}
	if s.wanted.stderr {
		o.Stderr = stderr
	}
	if resize != nil {
		o.TerminalSizeQueue = sizes(resize)
	}
	end := func() {}
	if s.missing != nil {
		o.Stdout, o.Stderr, end = s.missing.before(ctx, o.Stdout, o.Stderr)
	}
	err := streaming.Run(ctx, nil, s.target, o)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return errEnding
	case errors.Is(cause, errClientGone):
		return nil // nobody hears it
	case cause != nil:
		return cause
	}
	end()
	return reason(err)
}

// reason is an error in the words in which the runtime has said it; an exit code stays one.
func reason(err error) error {
	if errors.Is(err, streaming.ErrLost) {
		return errors.New("the connection to the container runtime was lost before the end was known")
	}
	if _, exited := errors.AsType[exec.CodeExitError](err); exited || err == nil {
		return err
	}
	text := err.Error()
	for _, added := range []string{"Internal error occurred: ", "error executing command in container: ", "error attaching to container: "} {
		text = strings.TrimPrefix(text, added)
	}
	return errors.New(text)
}

// sizes are those of the client's terminal.
type sizes <-chan cristreaming.TerminalSize

// Next waits for the next one; nil: there is none any more.
func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
}
