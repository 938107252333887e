package server

import (
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

// closeStreams closes the connections that have become streams: they have no
// answer that could be waited for.
func (l *listener) closeStreams() {
	for _, c := range l.left() {
		if c.isStream() {
			_ = c.Close() // its client gets to know
		}
	}
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

	mu     sync.Mutex
	stream bool
	timer  *time.Timer // that ends an idle stream; nil if it may be idle
}

func (c *conn) isStream() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream
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

// watchHijacked notes connections that have become a stream, and begins to count
// their idle time (streamingConnectionIdleTimeout).
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
	c.stream = true
	if c.listener.idle <= 0 {
		return
	}
	c.timer = time.AfterFunc(c.listener.idle, func() { _ = c.Close() })
}
