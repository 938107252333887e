package shutdown

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/shutdown/logindtest"
)

// machine is one with a D-Bus, a pretended logind and a Watcher.
type machine struct {
	t      *testing.T
	bus    *logindtest.Bus
	logind *logindtest.Logind
	*Watcher
	calls  chan string // what was told of shutdowns
	events chan string
	stop   func()
}

func newMachine(t *testing.T, delay time.Duration) *machine {
	bus := logindtest.NewBus(t)
	m := &machine{t: t, bus: bus, logind: logindtest.NewLogind(t, bus, delay), calls: make(chan string, 16), events: make(chan string, 16)}
	m.watch()
	return m
}

// watch begins a Watcher; the one before has been stopped.
func (m *machine) watch() {
	m.Watcher = New(Config{
		Time: 32 * time.Second, Bus: Bus{Address: m.bus.Address()}, DropIns: m.logind.DropIns, Record: filepath.Join(m.t.TempDir(), "times.json"),
		Began: func() { m.calls <- "began" }, Cancelled: func() { m.calls <- "cancelled" },
		Event: func(message string) { m.events <- message }, Changed: func() {}, Log: slog.New(slog.DiscardHandler),
	})
	m.stop = assert.Runs(m.t, m.Run)
}

// restartBus has everybody lose the connection.
func (m *machine) restartBus() {
	m.t.Helper()
	m.bus.Stop()
	assert.Must(m.t, m.bus.Start())
	m.logind = logindtest.NewLogind(m.t, m.bus, time.Hour)
}

// shutdown announces one, or that it was cancelled.
func (m *machine) shutdown(begins bool) {
	m.t.Helper()
	assert.Must(m.t, m.logind.PrepareForShutdown(begins))
}

// patience is for how long what comes at once is waited for.
const patience = 30 * time.Second

// A bus that takes connections and says nothing is tried again, so that its successor finds
// a lock to hold (B-SHD-1).
func TestBusHangs(t *testing.T) {
	bus := logindtest.NewBus(t)
	bus.Stop()
	path := strings.TrimPrefix(bus.Address(), "unix:path=")
	assert.Must(t, os.Remove(path))
	hangs := assert.Get(net.Listen("unix", path)).Must(t)
	w := New(Config{
		Bus: Bus{bus.Address(), 100 * time.Millisecond}, DropIns: t.TempDir(), Record: filepath.Join(t.TempDir(), "times.json"),
		Changed: func() {}, Log: slog.New(slog.DiscardHandler),
	})
	assert.Runs(t, w.Run)
	came := make(chan net.Conn)
	go func() {
		defer close(came)
		for range 2 {
			conn, err := hangs.Accept()
			if err != nil {
				return
			}
			came <- conn
		}
	}()
	for range 2 {
		conn := next(t, came, "another connection")
		t.Cleanup(func() { _ = conn.Close() })
	}
	assert.Must(t, hangs.Close())
	assert.Must(t, bus.Start())
	next(t, logindtest.NewLogind(t, bus, time.Minute).Locks, "the lock")
}

// next is what comes next.
func next[T any](t *testing.T, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("%s never came", what)
	}
	return got
}

func (m *machine) wantCall(want string) {
	m.t.Helper()
	got := next(m.t, m.calls, want)
	assert.Require(m.t, got == want, "told %q, want %q", got, want)
}

func held(lock *logindtest.Lock) bool {
	select {
	case <-lock.Released:
		return false
	default:
		return true
	}
}

// A lock of the kind delay is held, and logind's time is raised by a drop-in; a shutdown is
// told of, and waits until the lock is released. After a cancellation the lock is taken again
// (B-SHD-1, B-SHD-2).
func TestHoldsUpShutdown(t *testing.T) {
	m := newMachine(t, 5*time.Second)
	lock := next(t, m.logind.Locks, "the lock")
	assert.True(t, lock.What == "shutdown" && lock.Mode == "delay" && lock.Who == "lifepod", "lock %+v", lock)
	m.shutdown(true)
	m.wantCall("began")
	assert.Equal(t, 32*time.Second, m.logind.Delay(), "logind waits for")
	text, err := os.ReadFile(filepath.Join(m.logind.DropIns, "99-lifepod.conf"))
	assert.True(t, err == nil && strings.Contains(string(text), "[Login]\nInhibitDelayMaxSec=32\n"), "drop-in %q, %v", text, err)
	m.Announce(false)
	assert.Equal(t, "Shutdown manager detected shutdown event", next(t, m.events, "the event"), "event")
	assert.Error(t, "node is shutting down", m.NotReady(), "not ready")
	m.Release()
	next(t, lock.Released, "the release")
	began, ended := m.Times()
	assert.True(t, !began.IsZero() && !ended.Before(began), "times %s, %s", began, ended)

	m.shutdown(false)
	m.wantCall("cancelled")
	m.Announce(true)
	m.Take()
	assert.Equal(t, "Shutdown manager detected shutdown cancellation", next(t, m.events, "the event"), "event")
	assert.NoError(t, m.NotReady(), "not ready")
	again := next(t, m.logind.Locks, "the lock")
	m.stop()
	next(t, again.Released, "the release at the end")
}

// A connection that was lost is made again; the lock of before is given back for a new one,
// and a shutdown that has begun meanwhile is told of, for which there is no new lock
// (B-SHD-1).
func TestConnectionLost(t *testing.T) {
	m := newMachine(t, time.Hour)
	first := next(t, m.logind.Locks, "the lock")
	m.restartBus()
	second := next(t, m.logind.Locks, "the second lock")
	next(t, first.Released, "the release of the first")
	m.shutdown(false) // nothing was under way: reported, and of no consequence
	m.wantCall("cancelled")

	m.restartBus()
	m.logind.Prepare(true)
	select {
	case <-m.logind.Locks: // it was back before the shutdown began
		m.shutdown(true)
	case got := <-m.calls:
		assert.True(t, got == "began" && held(second), "told %q, the lock is held: %t", got, held(second))
		m.calls <- got
	case <-time.After(patience):
		t.Fatal("the shutdown is not told of")
	}
	m.wantCall("began")
	assert.Fails(t, assert.ErrorOf(os.Stat(m.logind.DropIns)), "a drop-in was written, although logind waits long enough")
}

// A shutdown that had begun before the agent is told of; the times of one outlive the agent.
func TestBeginsWhileShuttingDown(t *testing.T) {
	m := newMachine(t, time.Hour)
	next(t, m.logind.Locks, "the lock")
	m.Announce(false)
	m.Release()
	m.stop()
	began, ended := m.Times()
	saved := times{began, ended}
	assert.Must(t, saved.save(m.Record))
	m.logind.Prepare(true)
	record := m.Record
	m.watch()
	m.wantCall("began")
	loaded := New(Config{Record: record, Log: m.Log})
	b, e := loaded.Times()
	assert.True(t, b.Equal(began) && e.Equal(ended), "times %s and %s, want %s and %s", b, e, began, ended)
}
