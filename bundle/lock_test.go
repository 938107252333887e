package bundle

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := assert.Get(tryLock(path, unix.LOCK_SH)).Must(t)
	second, err := tryLock(path, unix.LOCK_SH)
	assert.Require(t, err == nil, "a second shared lock: %v", err)
	assert.ErrorIs(t, errLocked, assert.ErrorOf(tryLock(path, unix.LOCK_EX)), "exclusive beside shared")
	// Both leave at once: the one that fails has given its own lock up, so
	// that the other one knows that it is the last.
	assert.ErrorIs(t, errLocked, relock(first, unix.LOCK_EX), "the first one leaves")
	assert.NoError(t, relock(second, unix.LOCK_EX), "the last one leaves")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, context.Canceled, assert.ErrorOf(lock(ctx, path, unix.LOCK_SH)), "waiting with a cancelled context")
	second.Close()
	assert.NoError(t, assert.ErrorOf(lock(ctx, path, unix.LOCK_EX)), "the lock is free")
}

func TestExclude(t *testing.T) {
	p := Paths{Root: t.TempDir()}
	release := assert.Get(p.Exclude()).Must(t)
	assert.ErrorIs(t, ErrInUse, assert.ErrorOf(p.Exclude()), "twice")
	assert.Must(t, release())
	assert.NoError(t, assert.ErrorOf(p.Exclude()), "after the release")
}

// A stopped process that has a lock is named, not waited for.
func TestLockOfStoppedProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held := assert.Get(tryLock(path, unix.LOCK_EX)).Must(t)
	defer held.Close()
	assert.Deep(t, "holder", os.Getpid(), holder(path))
	stopped := exec.Command("sleep", "600")
	assert.Must(t, stopped.Start())
	defer func() { _ = stopped.Process.Kill(); _ = stopped.Wait() }()
	pid := stopped.Process.Pid
	assert.Must(t, unix.Kill(pid, unix.SIGSTOP))
	var status unix.WaitStatus
	_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
	assert.Require(t, err == nil && status.Stopped(), "wait for the stop: %v, status %v", err, status)
	assert.Must(t, os.WriteFile(path, []byte(strconv.Itoa(pid)), 0o600))
	synctest.Test(t, func(t *testing.T) {
		_, err := lock(t.Context(), path, unix.LOCK_SH)
		want := fmt.Sprintf("process %d, a lifepod, is suspended and holds ", pid)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "error %v, want one with %q", err, want)
	})
}
