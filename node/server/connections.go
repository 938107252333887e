package server

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lifepod/lifepod/internal/connlimit"
)

// listener knows its connections, also those that a http.Server gave away.
type listener struct {
	*connlimit.Listener
	idle time.Duration // a stream on which nothing moves for that long ends; 0: never

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = accepted.Close() // the server ends
		return nil, net.ErrClosed
	}
	l.open[c] = struct{}{}
	return c, nil
}

// closeAll closes what is still open, and what is yet to come.
func (l *listener) closeAll() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, c := range l.left() {
		_ = c.Close() // its client gets to know
	}
}

func (l *listener) left() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

// conn is a connection to a client.
type conn struct {
	net.Conn
	listener *listener

	mu    sync.Mutex
	timer *time.Timer // that ends an idle stream; nil if it may be idle
	end   func()      // tells the client that its stream is idle, and ends it; nil: nobody can
}

// connKey is that of a request's connection in its context.
type connKey struct{}

// withConn lets requests know their connection.
func withConn(ctx context.Context, given net.Conn) context.Context {
	if secure, ok := given.(*tls.Conn); ok {
		given = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, given)
}

// whenIdle has end called instead of closing an idle stream at once.
func (c *conn) whenIdle(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = end
}

// isIdle ends a stream on which nothing has moved.
func (c *conn) isIdle() {
	c.mu.Lock()
	end := c.end
	c.end = nil
	if end != nil {
		c.timer.Reset(lastWords)
	}
	c.mu.Unlock()
	if end == nil {
		_ = c.Close() // its client gets to know
		return
	}
	end()
}

// Read reads, which shows that the stream is used.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.used()
	return n, err
}

// Write writes, which shows that the stream is used.
func (c *conn) Write(p []byte) (int, error) {
	c.used()
	return c.Conn.Write(p)
}

// CloseWrite says that nothing comes any more; the client then closes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close closes and forgets the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) used() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Reset(c.listener.idle)
	}
}

// watchHijacked begins to count the idle time of connections that have become a stream
// (streamingConnectionIdleTimeout).
func watchHijacked(given net.Conn, state http.ConnState) {
	if state != http.StateHijacked {
		return
	}
	if secure, ok := given.(*tls.Conn); ok {
		given = secure.NetConn()
	}
	c, ok := given.(*conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener.idle <= 0 {
		return
	}
	c.timer = time.AfterFunc(c.listener.idle, c.isIdle)
}
