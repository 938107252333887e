package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

const suffix = ".sock"

// Folder is the folder of a root's sockets, below its run folder.
func Folder(runDir string) string { return filepath.Join(runDir, "pods") }

// listenAttempts is how often the folder is made anew when the last pod of
// another lifepod has taken it away. Many may come and go at the same time, and an attempt takes microseconds.
const listenAttempts = 1000

// listen makes a pod's socket. It gets its name only when it answers, so a socket that
// does not answer belongs to a dead process.
func listen(folder string, uid types.UID) (l *net.UnixListener, path string, err error) {
	path = filepath.Join(folder, string(uid)+suffix)
	for range listenAttempts {
		// MkdirAll says "exists" of a folder that went while it looked
		if l, err = listenOnce(folder, path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("control socket: %w", err)
	}
	return l, path, nil
}

func listenOnce(folder, path string) (*net.UnixListener, error) {
	if err := makeFolder(folder); err != nil {
		return nil, err
	}
	making := filepath.Join(folder, "."+strings.TrimSuffix(filepath.Base(path), suffix))
	_ = os.Remove(making) // of a killed process
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: making})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(making, 0o600)
	if err == nil {
		err = os.Rename(making, path)
	}
	if err != nil {
		_, _ = l.Close(), os.Remove(making)
		return nil, err
	}
	return l, nil
}

// makeFolder makes the folder accessible to root only, even if it exists with wider permissions.
func makeFolder(folder string) error {
	if err := rootfolder.EnsureRun(filepath.Dir(folder)); err != nil {
		return err
	}
	return rootfolder.Ensure(folder, 0o700)
}

// unlisten removes a socket, and the folders if they are empty; the run folder
// is left by a pod on another runtime only.
func unlisten(path string) {
	_ = os.Remove(path)
	_ = os.Remove(filepath.Dir(path))
	_ = os.Remove(filepath.Dir(filepath.Dir(path)))
}

// Sockets lists the sockets in a folder; no folder means no pods.
func Sockets(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, nil
}

// Dial connects to a pod's socket. It removes a socket whose process has died; then the error
// is fs.ErrNotExist, as if the socket had never existed.
func Dial(path string) (net.Conn, error) {
	conn, err := net.Dial("unix", path)
	if errors.Is(err, unix.ECONNREFUSED) {
		bury(path)
		return nil, fs.ErrNotExist
	}
	return conn, err
}

// bury removes the socket of a dead process. A lifepod that has resumed the pod may have
// replaced it by now: if so, the new socket answers under its other name, too, and is
// renamed back.
func bury(path string) {
	aside := filepath.Join(filepath.Dir(path), ".dead-"+filepath.Base(path))
	if os.Rename(path, aside) != nil {
		return // another client was faster
	}
	conn, err := net.Dial("unix", aside)
	if err != nil {
		_ = os.Remove(aside)
		return
	}
	_, _ = conn.Close(), os.Rename(aside, path)
}
