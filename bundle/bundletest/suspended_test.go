//go:build realruntime

package bundletest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// suspend is kill -STOP, until the end of the test.
func suspend(t *testing.T, pid int) {
	t.Helper()
	assert.Must(t, syscall.Kill(pid, unix.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, unix.SIGCONT) })
}

// The first lifepod of a root supervises. While it is suspended others go on
// with a containerd that answers, and hear who keeps them from one that is gone.
func TestSuspendedSupervisor(t *testing.T) {
	root := newRoot(t)
	first := startHolder(t, root)
	suspend(t, first.cmd.Process.Pid)
	r := open(t, root)
	assert.NoError(t, assert.ErrorOf(r.ImportImages(t.Context())), "import images")
	closeRuntime(t, r)
	killContainerd(t, root)
	_, err := bundle.Open(t.Context(), bundle.Config{Root: root})
	want := fmt.Sprintf("process %d, a lifepod that supervises this state folder's runtime, does not answer: if it is suspended, resume it", first.cmd.Process.Pid)
	assert.True(t, err != nil && strings.Contains(err.Error(), want), "without containerd: error %v, want one with %q", err, want)
	assert.Must(t, syscall.Kill(first.cmd.Process.Pid, unix.SIGCONT))
	first.hears(t, "restarted")
	first.close(t)
}

// A containerd that hangs is an error while somebody supervises it, and is
// replaced by who takes it over.
func TestHungContainerd(t *testing.T) {
	root := newRoot(t)
	first := startHolder(t, root)
	hung := containerd(t, root)
	suspend(t, hung)
	r := open(t, root)
	if _, err := r.ImportImages(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer; its log is") {
		t.Errorf("import images: error %v, want that containerd does not answer", err)
	}
	closeRuntime(t, r)
	first.kill(t)
	second := open(t, root)
	pid := containerd(t, root)
	assert.True(t, pid != hung, "containerd has pid %d still: it was not replaced", pid)
	closeRuntime(t, second)
}
