package bundle

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// A follower hears which containerd answers, however late it connects; when the supervisor goes, the connection breaks.
func TestStation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "news.sock")
	assert.Must(t, os.WriteFile(path, []byte("stale"), 0o600))
	st := assert.Get(openNewsServer(path)).Must(t)
	early := listenTo(t, path)
	st.waitConns(1)
	first, second := news{ID: pidfd.ID{PID: 1, StartTicks: 7}}, news{ID: pidfd.ID{PID: 2, StartTicks: 8}}
	st.tell(first)
	late := listenTo(t, path)
	st.waitConns(2)
	st.tell(second)
	st.close()
	for name, lines := range map[string]*bufio.Scanner{"early": early, "late": late} {
		var got []news
		for lines.Scan() {
			var n news
			assert.Must(t, json.Unmarshal(lines.Bytes(), &n))
			if n.PID != 0 { // else a sign of life, by a slow machine
				got = append(got, n)
			}
		}
		assert.Deep(t, fmt.Sprintf("what the %s follower heard", name), []news{first, second}, got)
	}
}

func listenTo(t *testing.T, path string) *bufio.Scanner {
	t.Helper()
	conn := assert.Get(net.Dial("unix", path)).Must(t)
	t.Cleanup(func() { _ = conn.Close() })
	return bufio.NewScanner(conn)
}

// waitConns waits until n followers were accepted.
func (st *newsServer) waitConns(n int) {
	for {
		st.mu.Lock()
		have := len(st.conns)
		st.mu.Unlock()
		if have == n {
			return
		}
		runtime.Gosched()
	}
}

// Another containerd than before is a restart, the same one is none; the
// newest restart is kept when nobody listens.
func TestRestarts(t *testing.T) {
	s := &supervisor{log: slog.New(slog.DiscardHandler), up: make(chan error, 1), restarts: make(chan time.Time, 1)}
	at := func(pid, second int) news {
		return news{ID: pidfd.ID{PID: pid, StartTicks: 1}, Since: time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)}
	}
	s.answers(at(10, 1))
	s.answers(at(10, 2))
	assert.True(t, len(s.up) == 1 && len(s.restarts) == 0,
		"the same containerd twice: %d first answers and %d restarts, want 1 and 0", len(s.up), len(s.restarts))
	s.answers(at(11, 3))
	s.answers(at(12, 4))
	assert.Deep(t, "restart", at(12, 4).Since, <-s.restarts)
}

func TestReadiness(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify.sock")
	ready := assert.Get(listenReady(path)).Must(t)
	defer ready.close()
	conn := assert.Get(net.Dial("unixgram", path)).Must(t)
	defer func() { _ = conn.Close() }()
	for _, message := range []string{"STATUS=almost", "STATUS=done\nREADY=1\n"} {
		assert.Must(t, assert.ErrorOf(conn.Write([]byte(message))))
	}
	<-ready.heard
}

func TestBackoffEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := newBackoff(time.Hour, time.Hour).sleep(ctx)
	assert.True(t, err != nil, "sleep did not notice that the context had ended")
}
