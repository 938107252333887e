package bundle

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryLock(path, unix.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	second, err := tryLock(path, unix.LOCK_SH)
	if err != nil {
		t.Fatalf("a second shared lock: %v", err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Exclude(); !errors.Is(err, ErrInUse) {
		t.Errorf("twice: error %v, want %v", err, ErrInUse)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Exclude(); err != nil {
		t.Errorf("after the release: %v", err)
	}
}
