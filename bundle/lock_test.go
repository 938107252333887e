package bundle

import (
	"context"
	"errors"
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
	first, err := tryLock(path, unix.LOCK_SH)
	assert.Must(t, err)
	second, err := tryLock(path, unix.LOCK_SH)
	assert.Require(t, err == nil, "a second shared lock: %v", err)
	if _, err := tryLock(path, unix.LOCK_EX); !errors.Is(err, errLocked) {
		t.Errorf("exclusive beside shared: error %v, want %v", err, errLocked)
	}
	// Both leave at once: the one that fails has given its own lock up, so
	// that the other one knows that it is the last.
	if err := relock(first, unix.LOCK_EX); !errors.Is(err, errLocked) {
		t.Errorf("the first one leaves: error %v, want %v", err, errLocked)
	}
	if err := relock(second, unix.LOCK_EX); err != nil {
		t.Errorf("the last one leaves: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock(ctx, path, unix.LOCK_SH); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a cancelled context: error %v", err)
	}
	second.Close()
	if _, err := lock(ctx, path, unix.LOCK_EX); err != nil {
		t.Errorf("the lock is free: %v", err)
	}
}

func TestExclude(t *testing.T) {
	p := Paths{Root: t.TempDir()}
	release, err := p.Exclude()
	assert.Must(t, err)
	if _, err := p.Exclude(); !errors.Is(err, ErrInUse) {
		t.Errorf("twice: error %v, want %v", err, ErrInUse)
	}
	assert.Must(t, release())
	if _, err := p.Exclude(); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// A stopped process that has a lock is named, not waited for.
func TestLockOfStoppedProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path, unix.LOCK_EX)
	assert.Must(t, err)
	defer held.Close()
	assert.Deep(t, "holder", os.Getpid(), holder(path))
	stopped := exec.Command("sleep", "600")
	assert.Must(t, stopped.Start())
	defer func() { _ = stopped.Process.Kill(); _ = stopped.Wait() }()
	pid := stopped.Process.Pid
	assert.Must(t, unix.Kill(pid, unix.SIGSTOP))
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("wait for the stop: %v, status %v", err, status)
	}
	assert.Must(t, os.WriteFile(path, []byte(strconv.Itoa(pid)), 0o600))
	synctest.Test(t, func(t *testing.T) {
		_, err := lock(t.Context(), path, unix.LOCK_SH)
		want := fmt.Sprintf("process %d, a lifepod, is suspended and holds ", pid)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "error %v, want one with %q", err, want)
	})
}
