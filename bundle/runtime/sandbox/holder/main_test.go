package holder

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
)

// program is the sandbox program, built as bundle/build does.
var program string

// Threads that join a namespace end. The first thread cannot: it would hold the namespace.
func init() { runtime.LockOSThread() }

// TestMain reaps processes as the shim does.
func TestMain(m *testing.M) {
	children := make(chan os.Signal, 32)
	signal.Notify(children, unix.SIGCHLD)
	code, err := run(m, children)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, children <-chan os.Signal) (code int, err error) {
	folder, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program = filepath.Join(folder, "pod-sandbox")
	cmd := exec.Command("cc", "@cflags", "-o", program, "sandbox.c")
	cmd.Dir = "../../pause"
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	go func() {
		for range children {
			_ = reaper.Reap()
		}
	}()
	return m.Run(), nil
}
