package connlimit

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestMany: however many connections say nothing, those that were admitted are served, a new client from elsewhere
// is let in, and the oldest of the many are closed.
func TestMany(t *testing.T) {
	l := listen(t, 40) // of which 10 need not have been admitted, and 20 may be of one source
	known := l.dial(t, "127.0.0.1")
	l.Admit(known.LocalAddr().String())
	var idle []net.Conn
	for range 100 {
		idle = append(idle, l.dial(t, "127.0.0.2"))
	}
	for i, c := range idle[:90] {
		assert.Require(t, ended(c), "the connection %d of 100 that say nothing is open", i)
	}
	l.dial(t, "127.0.0.3")
	assert.True(t, ended(idle[90]), "another source's client closes none of the source that has the most")
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.True(t, len(l.fresh) == 10 && len(l.open) == 11 && l.open[known.LocalAddr().String()] != nil && len(l.from) == 3,
		"%d not admitted of %d, sources %v", len(l.fresh), len(l.open), l.from)
}

// TestAdmitted: one source does not have all connections, whoever it is, and the listener no more than it may.
func TestAdmitted(t *testing.T) {
	l := listen(t, 8)
	for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
		for range 4 {
			l.Admit(l.dial(t, ip).LocalAddr().String())
		}
		assert.True(t, ended(l.try(t, ip)), "%s has more than half of the connections", ip)
	}
	assert.True(t, ended(l.try(t, "127.0.0.3")), "there are more connections than there may be")
}

// TestPatience: who does not show who it is gets no more time than that, whatever it says; who has shown it stays.
func TestPatience(t *testing.T) {
	l := listen(t, 8)
	late := l.dial(t, "127.0.0.1")
	l.mu.Lock()
	l.open[late.LocalAddr().String()].timer.Reset(0)
	l.mu.Unlock()
	assert.True(t, ended(late), "open")
	known := l.dial(t, "127.0.0.1")
	l.Admit(known.LocalAddr().String())
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[known.LocalAddr().String()]
	assert.True(t, c != nil && !c.timer.Stop(), "the one that was admitted is closed later")
}

// TestFilesAreLeft: a process with few files that any number of clients connect to can open files for its pods.
func TestFilesAreLeft(t *testing.T) {
	const child = "LIFEPOD_TEST_FEW_FILES"
	if os.Getenv(child) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestFilesAreLeft$")
		again.Env = append(os.Environ(), child+"=1")
		out, err := again.CombinedOutput()
		assert.Require(t, err == nil, "%v: %s", err, out)
		return
	}
	few := syscall.Rlimit{Cur: 400, Max: 400}
	assert.Must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	inner := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	l := New(inner, Share(4))
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	var idle []int // file descriptors of the clients, which this process has, too
	for range 250 {
		fd := assert.Get(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)).Must(t)
		idle = append(idle, fd)
		port := inner.Addr().(*net.TCPAddr).Port
		assert.Must(t, syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	}
	answer, err := http.Get("http://" + inner.Addr().String()) // all before it have been accepted then
	assert.Must(t, err)
	_ = answer.Body.Close()
	for range 50 {
		file, err := os.Open(os.DevNull)
		assert.Require(t, err == nil, "with %d clients: %v", len(idle), err)
		defer file.Close()
	}
}

// tested is a listener with what it has accepted.
type tested struct {
	*Listener
	accepted chan string // addresses of clients
}

func listen(t *testing.T, most int) tested {
	inner := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	t.Cleanup(func() { _ = inner.Close() })
	l := tested{New(inner, most), make(chan string)}
	l.patience = time.Hour
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case l.accepted <- c.RemoteAddr().String():
			case <-t.Context().Done():
			}
		}
	}()
	return l
}

// dial connects from an address, and returns when the connection has been accepted.
func (l tested) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	c := l.try(t, from)
	address := <-l.accepted
	assert.Require(t, address == c.LocalAddr().String(), "accepted %s, want %s", address, c.LocalAddr())
	return c
}

// try connects from an address.
func (l tested) try(t *testing.T, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c := assert.Get(dialer.Dial("tcp", l.Addr().String())).Must(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ended waits until the other side has closed a connection.
func ended(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // fails of a closed one only
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}
