package e2e

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// otherUser is a thread of this process that is nobody: what it does has no rights.
type otherUser struct{ work chan func() }

func newOtherUser(t *testing.T) *otherUser {
	t.Helper()
	const nobody = 65534
	u := &otherUser{work: make(chan func())}
	ready := make(chan unix.Errno)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		var failed unix.Errno
		for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, nobody, nobody, nobody}, {unix.SYS_SETRESUID, nobody, nobody, nobody}} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 { // of this thread only
				failed = errno
			}
		}
		ready <- failed
		for do := range u.work {
			do()
		}
	}()
	t.Cleanup(func() { close(u.work) })
	errno := <-ready
	assert.Require(t, errno == 0, "%v", errno)
	return u
}

// try has the user do something, and says whether it worked.
func (u *otherUser) try(do func() error) bool {
	done := make(chan error)
	u.work <- func() { done <- do() }
	return <-done == nil
}

// gets lists what the user can read, write or connect to in a folder, who knows all names in it.
func (u *otherUser) gets(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		may := func(what uint32) bool { return u.try(func() error { return unix.Access(path, what) }) }
		read := u.try(func() error { return readBy(path, entry) })
		if write := may(unix.W_OK); read || write && entry.Type()&fs.ModeSymlink == 0 {
			list = append(list, path)
		}
		if entry.IsDir() && !may(unix.X_OK) {
			return fs.SkipDir
		}
		return nil
	})
	assert.Must(t, err)
	return list
}

// readBy reads a file, lists a folder, or connects to a socket.
func readBy(path string, entry fs.DirEntry) error {
	switch {
	case entry.Type()&fs.ModeSocket != 0:
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	case entry.Type()&fs.ModeSymlink != 0:
		return fs.ErrInvalid // where it leads to is looked at there
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err == nil {
		_ = file.Close()
	}
	return err
}

// TestAnotherUser: who isn't root reads neither journals, nor logs, nor volumes, and steers no
// pod, also if they know every name.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	if err := os.Chmod(r.dir, 0o711); err != nil { //nolint:gosec // as lifepod makes it
		t.Fatal(err)
	}
	u := newOtherUser(t)
	c := r.startReady(t, pod("private", "containers:\n"+shell("main", "echo secret; "+waiter, "volumeMounts: [{name: v, mountPath: /v}]")+"volumes: [{name: v, emptyDir: {}}]"))
	c.await(c.stdout, "secret")
	harmless := []string{"cni/", "cni", "containerd.toml", "images.imported", "network.json"}
	var got []string
	for _, path := range u.gets(t, r.dir) {
		name, _ := filepath.Rel(r.dir, path)
		if !slices.ContainsFunc(harmless, func(known string) bool {
			return name == known || strings.HasSuffix(known, "/") && strings.HasPrefix(name, known)
		}) {
			got = append(got, path)
		}
	}
	got = append(got, u.gets(t, r.runDir())...)
	assert.True(t, len(got) == 0, "another user gets\n%s", strings.Join(got, "\n"))
	assert.True(t, u.try(func() error { _, err := os.ReadFile(filepath.Join(r.dir, "network.json")); return err }),
		"another user gets nothing at all: the test would see nothing")
	sockets, err := filepath.Glob(r.runDir() + "/pods/*.sock")
	assert.Require(t, err == nil && len(sockets) == 1, "control sockets %v, %v", sockets, err)
	conn, err := net.Dial("unix", sockets[0])
	if err != nil {
		t.Errorf("root can't steer it either: %v", err)
	} else {
		_ = conn.Close()
	}
	for _, folder := range []string{"journal", "logs", "pods"} {
		entries, err := os.ReadDir(filepath.Join(r.dir, folder))
		assert.True(t, err == nil && len(entries) != 0, "there is nothing in %s: %v", folder, err)
	}
}
