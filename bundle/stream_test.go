package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// shortPaths are those of a root whose run folder can hold sockets.
func shortPaths(t *testing.T) Paths {
	t.Helper()
	runDir := assert.Get(os.MkdirTemp("", "lp")).Must(t)
	t.Cleanup(func() { _ = os.RemoveAll(runDir) })
	return assert.Get(Locate(t.TempDir(), runDir)).Must(t)
}

// suspendedSupervisor holds the lock and, like a stopped process, lets the
// kernel accept connections.
func suspendedSupervisor(t *testing.T, p Paths) net.Listener {
	t.Helper()
	held := assert.Get(tryLock(p.supervisorLock(), unix.LOCK_EX)).Must(t)
	listener := assert.Get(net.Listen("unix", p.supervision())).Must(t)
	t.Cleanup(func() { _, _ = listener.Close(), held.Close() })
	return listener
}

// startFollower runs a supervisor that has little patience until the test ends.
func startFollower(t *testing.T, p Paths) *supervisor {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := &supervisor{
		daemon: &daemon{paths: p, log: log}, log: log, up: make(chan error, 1), restarts: make(chan time.Time, 1),
		patience: patience{quiet: 50 * time.Millisecond, silence: 200 * time.Millisecond},
	}
	assert.Runs(t, s.run)
	return s
}

// answeringRuntime is a containerd that answers, with its record.
type answeringRuntime struct {
	cri.UnimplementedRuntimeServiceServer
}

func (answeringRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{}, nil
}

// serveRuntime lets this process pass for the root's containerd.
func serveRuntime(t *testing.T, p Paths) pidfd.ID {
	t.Helper()
	listener := assert.Get(net.Listen("unix", p.Socket())).Must(t)
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, answeringRuntime{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	id := assert.Get(pidfd.Find(os.Getpid())).Must(t)
	text := assert.Get(json.Marshal(id)).Must(t)
	assert.Must(t, os.WriteFile(p.record(), text, 0o600))
	return id
}

// Behind a suspended supervisor nobody waits without end, nor without a word.
func TestSuspendedSupervisorIsNamed(t *testing.T) {
	p := shortPaths(t)
	suspendedSupervisor(t, p)
	want := fmt.Sprintf("process %d, a lifepod that supervises this state folder's runtime, does not answer: if it is suspended, resume it", os.Getpid())
	err := <-startFollower(t, p).up
	assert.True(t, err != nil && strings.Contains(err.Error(), want), "error %v, want one with %q", err, want)
}

// The same where it was suspended before it listened.
func TestSupervisorSuspendedEarlyIsNamed(t *testing.T) {
	p := shortPaths(t)
	held := assert.Get(tryLock(p.supervisorLock(), unix.LOCK_EX)).Must(t)
	defer held.Close()
	assert.ErrorContains(t, "does not answer: if it is suspended", <-startFollower(t, p).up)
}

// A containerd that answers is enough; the supervisor's news count once it
// continues.
func TestSuspendedSupervisorOfRunningContainerd(t *testing.T) {
	p := shortPaths(t)
	listener := suspendedSupervisor(t, p)
	id := serveRuntime(t, p)
	s := startFollower(t, p)
	err := <-s.up
	assert.Require(t, err == nil, "containerd answers, but: %v", err)
	conn := assert.Get(listener.Accept()).Must(t)
	defer func() { _ = conn.Close() }()
	send(conn, news{ID: id})
	restarted := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	send(conn, news{ID: pidfd.ID{PID: id.PID + 1, StartTicks: 1}, Since: restarted})
	got := <-s.restarts
	assert.True(t, got.Equal(restarted), "restart at %v, want that of another containerd only, at %v", got, restarted)
}

// A supervisor that starts containerd, however long, is waited for.
func TestStartingSupervisorIsWaitedFor(t *testing.T) {
	p := shortPaths(t)
	held := assert.Get(tryLock(p.supervisorLock(), unix.LOCK_EX)).Must(t)
	defer held.Close()
	st := assert.Get(openNewsServer(p.supervision())).Must(t)
	defer st.close()
	conn := listenTo(t, p.supervision())
	for range 3 {
		assert.Require(t, conn.Scan(), "a supervisor that starts containerd says nothing")
		var n news
		err := json.Unmarshal(conn.Bytes(), &n)
		assert.True(t, err == nil && n.PID == 0, "before there is news: %+v, %v, want an empty one", n, err)
	}
	s := &supervisor{daemon: &daemon{paths: p}, log: slog.New(slog.DiscardHandler), up: make(chan error, 1),
		patience: patience{quiet: time.Minute, silence: time.Minute}}
	heard, ended := make(chan news), make(chan error)
	attended := make(chan error)
	go func() { attended <- s.attend(t.Context(), heard, ended) }()
	heard <- news{}
	heard <- news{}
	if len(s.up) != 0 {
		t.Errorf("an empty news is taken for containerd's answer: %v", <-s.up)
	}
	heard <- news{ID: pidfd.ID{PID: 7}}
	assert.NoError(t, <-s.up, "after the news")
	ended <- pidfd.ErrEnded
	assert.ErrorIs(t, pidfd.ErrEnded, <-attended, "after the end")
}

// What goes wrong after Open has returned is logged, the first time too.
func TestLaterFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := &supervisor{log: slog.New(slog.NewTextHandler(&log, nil)), up: make(chan error, 1), restarts: make(chan time.Time, 1)}
	s.answers(news{ID: pidfd.ID{PID: 1}})
	assert.Must(t, <-s.up)
	s.failed(errors.New("the disk is full"))
	assert.True(t, strings.Contains(log.String(), "the disk is full"), "log: %q, want the failure", log.String())
}

// A stopped containerd accepts connections and says nothing, and one that ends again and again closes those it has begun to talk on.
func TestImportImagesFromHungContainerd(t *testing.T) {
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0} // an empty SETTINGS frame, the first that a server of HTTP/2 sends
	for name, talk := range map[string]func(net.Conn){
		"says nothing": func(net.Conn) {},
		"closes": func(conn net.Conn) {
			_, _ = conn.Write(settings)
			_, _ = io.ReadAtLeast(conn, make([]byte, 4096), 100) // more than the client's preface: a call
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := shortPaths(t)
			listener := assert.Get(net.Listen("unix", p.Socket())).Must(t)
			defer func() { _ = listener.Close() }()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					talk(conn)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			r := &Runtime{paths: p}
			_, err := r.ImportImages(ctx)
			want := "containerd at unix://" + p.Socket() + " does not answer; its log is " + p.Log()
			assert.True(t, err != nil && err.Error() == want, "error %v, want %q", err, want)
		})
	}
}
