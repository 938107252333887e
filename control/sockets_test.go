package control

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// nobody is a user without rights.
const nobody = 65534

// peerSocket tells the test binary that it is to be a client of that socket.
const peerSocket = "LIFEPOD_TEST_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(peerSocket); path != "" {
		fmt.Print(statusAt(path))
		return
	}
	os.Exit(m.Run())
}

// statusAt is the answer that a socket gives to whoever this process is.
func statusAt(path string) string {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return Dial(path) },
	}}
	response, err := client.Get("http://lifepod/v1/pods")
	if err != nil {
		return err.Error()
	}
	_ = response.Body.Close()
	return response.Status
}

func startServer(t *testing.T) (*Server, string) {
	t.Helper()
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	s := assert.Get(Serve(Config{
		Folder: folder, Object: NewObject(testPod()), Post: func(lifecycle.Fact) {}, Log: slog.New(slog.DiscardHandler),
	})).Must(t)
	t.Cleanup(func() {
		s.Object.Gone()
		s.Close()
		assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Stat(filepath.Dir(folder))), "the run folder is left")
	})
	return s, folder
}

// Nobody but root gets through the folder, the socket's mode, or the credentials.
func TestSocketIsRootsOnly(t *testing.T) {
	s, folder := startServer(t)
	for path, want := range map[string]fs.FileMode{folder: 0o700, s.path: 0o600} {
		info, err := os.Stat(path)
		assert.True(t, err == nil && info.Mode().Perm() == want, "%s: %v, %v, want mode %v", path, info, err, want)
	}
	if os.Geteuid() != 0 {
		assert.Equal(t, "403 Forbidden", statusAt(s.path), "this user")
		return
	}
	assert.Equal(t, "200 OK", statusAt(s.path), "root")
	program := openTo(t, folder, s.path)
	for _, tc := range []struct {
		uid  uint32
		want string
	}{{0, "200 OK"}, {nobody, "403 Forbidden"}} {
		client := exec.Command(program)
		client.Dir, client.Env = "/", []string{peerSocket + "=" + s.path}
		client.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: tc.uid, Gid: tc.uid}}
		got, err := client.CombinedOutput()
		assert.True(t, err == nil && string(got) == tc.want, "user %d: %q, %v, want %q", tc.uid, got, err, tc.want)
	}
}

// openTo takes the modes away, so that the credentials alone decide, and returns
// a copy of this program that everybody may start.
func openTo(t *testing.T, folder, socket string) string {
	t.Helper()
	text := assert.Get(os.ReadFile("/proc/self/exe")).Must(t)
	program := filepath.Join(filepath.Dir(filepath.Dir(folder)), "client")
	assert.Must(t, os.WriteFile(program, text, 0o755))
	for dir := folder; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		assert.Must(t, os.Chmod(dir, 0o755))
	}
	assert.Must(t, os.Chmod(socket, 0o666))
	return program
}

// A socket whose process is dead is removed by who finds it; others stay.
func TestDeadSocket(t *testing.T) {
	s, folder := startServer(t)
	dead := filepath.Join(folder, "dead.sock")
	l := assert.Get(net.ListenUnix("unix", &net.UnixAddr{Name: dead})).Must(t)
	l.SetUnlinkOnClose(false)
	assert.Must(t, l.Close())
	if paths, err := Sockets(folder); err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v, want two", paths, err)
	}
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(Dial(dead)), "dial the dead socket")
	paths, err := Sockets(folder)
	diff := cmp.Diff([]string{s.path}, paths)
	assert.True(t, diff == "" && err == nil, "%v (-want +got):\n%s", err, diff)
	paths, err = Sockets(filepath.Join(folder, "none"))
	assert.True(t, paths == nil && err == nil, "no folder: %v, %v", paths, err)
}

// B-RST-9: a socket that was dead a moment ago may be that of the next lifepod
// by now, which must not lose it.
func TestBuryNobodyAlive(t *testing.T) {
	s, folder := startServer(t)
	bury(s.path)
	conn, err := Dial(s.path)
	assert.Require(t, err == nil, "the pod can't be reached any more: %v", err)
	_ = conn.Close()
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 1, "%v, %v, want the socket alone", left, err)
}

// A killed server's socket under the same name is no obstacle.
func TestServeAgain(t *testing.T) {
	s, folder := startServer(t)
	assert.Must(t, os.WriteFile(filepath.Join(folder, ".uid-1"), nil, 0o600))
	l, path, err := listen(folder, "uid-1")
	assert.Require(t, err == nil && path == s.path, "%s, %v", path, err)
	_ = l.Close()
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 1 && strings.HasSuffix(left[0].Name(), suffix), "%v, %v, want the socket alone", left, err)
}

// Pods begin and end at the same time, and with the last one goes the folder.
func TestListenWhileOthersEnd(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	var pods sync.WaitGroup
	for n := range 8 {
		pods.Go(func() {
			for range 200 {
				l, path, err := listen(folder, types.UID(strconv.Itoa(n)))
				if err != nil {
					t.Error(err)
					return
				}
				_ = l.Close()
				unlisten(path)
			}
		})
	}
	pods.Wait()
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Stat(folder)), "the folder is left")
}
