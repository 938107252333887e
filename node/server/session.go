package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
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

// errClientGone ends a session whose client has closed its connection.
var errClientGone = errors.New("the client has closed the connection")

// relayed is where the streams of sessions are, for those who translate the protocols of clients: in this process.
var relayed = &url.URL{Scheme: "http", Host: "lifepod"}

// relay is the transport to what serves one session in this process, so that this end knows how the session ends: a runtime, or a client
// between both, that loses its connection would leave the other one without a word, which says success. The context of the request that
// handle gets ends with the client, with the node, or when nothing has moved for long, and says which.
func (s *Server) relay(r *http.Request, handle http.HandlerFunc) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ctx, cancel := context.WithCancelCause(r.Context())
		if c, is := r.Context().Value(connKey{}).(*conn); is {
			c.whenIdle(func() {
				cancel(fmt.Errorf("nothing has moved for %v (streamingConnectionIdleTimeout)", c.listener.idle))
			})
		}
		here, there := net.Pipe()
		server := &http.Server{
			Handler:           handle,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ReadHeaderTimeout: headerTimeout,
		}
		one := &oneConn{conn: &watchedConn{Conn: there, gone: func() { cancel(errClientGone) }}}
		go func() { _ = server.Serve(one) }() // it returns at once, and its connection goes on
		return nearEnd{here}, nil
	}}
}

// nearEnd is the end of a pipe for who knows network connections: that it was closed is nothing to be logged.
type nearEnd struct{ net.Conn }

// Read reads.
func (n nearEnd) Read(p []byte) (int, error) {
	read, err := n.Conn.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return read, err
}

// watchedConn is a session's connection.
type watchedConn struct {
	net.Conn
	gone func()
}

// Read notices that the client has gone. A deadline is what a http.Server lets go of a connection with.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.gone()
	}
	return n, err
}

// oneConn is a listener with one connection.
type oneConn struct {
	once sync.Once
	conn net.Conn
}

// Accept returns the connection, the first time.
func (l *oneConn) Accept() (net.Conn, error) {
	err := net.ErrClosed
	l.once.Do(func() { err = nil })
	if err != nil {
		return nil, err
	}
	return l.conn, nil
}

// Close leaves the connection open.
func (l *oneConn) Close() error { return nil }

// Addr is the connection's.
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
