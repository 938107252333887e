// Package connlimit keeps those who may only connect from taking the files that a process needs for its pods: a
// listener has so many connections, and fewer of clients that have not shown who they are.
package connlimit

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// patience is how long a client may take to show who it is.
	patience = 10 * time.Second
	// mostUnadmitted is how many clients that have not shown it may be connected.
	mostUnadmitted = 1000
)

// Share is how many connections one of so many parts of the files that this process may open is.
func Share(parts int) int {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		files.Cur = 1024 // as where nobody has set it
	}
	return max(1, int(min(files.Cur, 1<<20))/parts)
}

// Listener has limits for its connections. A new one beyond them closes another that has not been admitted, of
// the source with the most of these; without any the new one is closed. One source has half of the connections at most.
type Listener struct {
	net.Listener
	most, unknown int
	patience      time.Duration

	mu    sync.Mutex
	open  map[string]*conn     // by the address of the client
	from  map[netip.Prefix]int // how many of them are of a source
	fresh []*conn              // those that have not been admitted, in the order of their coming
}

// New limits the connections of a listener for TCP.
func New(l net.Listener, most int) *Listener {
	return &Listener{
		Listener: l, most: most, unknown: min((most+3)/4, mostUnadmitted), patience: patience,
		open: map[string]*conn{}, from: map[netip.Prefix]int{},
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{TCPConn: accepted.(*net.TCPConn), listener: l, source: sourceOf(accepted.RemoteAddr())}
		if l.add(c) {
			return c, nil
		}
		_ = accepted.Close() // who wanted it gets to know
	}
}

// Admit keeps a client's connection, by its address: who it is has been found out.
func (l *Listener) Admit(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.open[address]; c != nil && c.timer.Stop() {
		l.fresh = slices.DeleteFunc(l.fresh, func(f *conn) bool { return f == c })
	}
}

// Admitting admits the clients whose requests reach a handler.
func (l *Listener) Admitting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.Admit(r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}

// add enters a connection, if there is room for it or another makes some.
func (l *Listener) add(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[c.source] >= (l.most+1)/2 && !l.drop(func(f *conn) bool { return f.source == c.source }) {
		return false
	}
	if (len(l.fresh) >= l.unknown || len(l.open) >= l.most) && !l.drop(l.ofMost()) {
		return false
	}
	l.open[c.RemoteAddr().String()] = c
	l.from[c.source]++
	l.fresh = append(l.fresh, c)
	c.timer = time.AfterFunc(l.patience, func() { _ = c.Close() }) // it gets to know
	return true
}

// drop closes the oldest of some connections that have not been admitted.
func (l *Listener) drop(some func(*conn) bool) bool {
	i := slices.IndexFunc(l.fresh, some)
	if i < 0 {
		return false
	}
	c := l.fresh[i]
	l.forget(c)
	_ = c.TCPConn.Close() // it gets to know
	return true
}

// ofMost are those of the source with the most that have not been admitted.
func (l *Listener) ofMost() func(*conn) bool {
	counts, most := map[netip.Prefix]int{}, netip.Prefix{}
	for _, c := range l.fresh {
		if counts[c.source]++; counts[c.source] > counts[most] {
			most = c.source
		}
	}
	return func(c *conn) bool { return c.source == most }
}

func (l *Listener) forget(c *conn) {
	address := c.RemoteAddr().String()
	if l.open[address] != c {
		return
	}
	c.timer.Stop()
	delete(l.open, address)
	l.fresh = slices.DeleteFunc(l.fresh, func(f *conn) bool { return f == c })
	if l.from[c.source]--; l.from[c.source] == 0 {
		delete(l.from, c.source)
	}
}

// sourceOf is who a client may be: an address of IPv4, and of IPv6 the network that anybody has for himself.
func sourceOf(address net.Addr) netip.Prefix {
	ip := address.(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// conn is a connection that the listener counts.
type conn struct {
	*net.TCPConn
	listener *Listener
	source   netip.Prefix
	timer    *time.Timer // that closes it unless it is admitted before; guarded by listener.mu
}

// Close closes the connection and forgets it.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.forget(c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}
