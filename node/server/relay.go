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
	"sync"
)

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
