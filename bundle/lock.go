package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// errLocked means that another process holds a lock that excludes ours.
var errLocked = errors.New("locked by another process")

// tryLock takes a lock of the file at path without waiting: how is
// unix.LOCK_SH or unix.LOCK_EX. The lock is held until the file is closed or
// the process ends. It returns errLocked when it cannot be had now.
func tryLock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := relock(f, how); err != nil {
		f.Close()
		return nil, err
	}
	if how == unix.LOCK_EX {
		sign(f)
	}
	return f, nil
}

// sign writes our pid into the file of a lock that we hold alone, for those
// who wait in vain to name us. Without it they name nobody.
func sign(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
}

// holder is the pid of who has the lock at path alone, 0 if it is not known.
func holder(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	return pid
}

// ErrInUse means that some lifepod has the root open.
var ErrInUse = errors.New("another lifepod is using this state folder")

// Exclude keeps every other process from opening the root until release is
// called; they wait. It fails with [ErrInUse] if the root is open. It is for
// whoever sweeps up what a killed lifepod left.
func (p Paths) Exclude() (release func() error, err error) {
	if err := rootfolder.Make(p.Root); err != nil {
		return nil, err
	}
	held, err := tryLock(p.usersLock(), unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w", p.Root, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	return held.Close, nil
}

// relock converts the lock of f, or takes one. When it fails, f holds none.
func relock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// A lock that excludes others is held for a moment: to unpack, to close, to
// sweep up. stoppedPatience is how long its holder may be stopped (Ctrl-Z), and
// lockPatience how long it may take for whatever it does.
const (
	stoppedPatience = 10 * time.Second
	lockPatience    = 2 * time.Minute
)

// lock is tryLock that waits. A blocked flock cannot be cancelled, so this
// asks again and again; it is on no hot path.
func lock(ctx context.Context, path string, how int) (*os.File, error) {
	began := time.Now()
	for wait := newBackoff(time.Millisecond, 50*time.Millisecond); ; {
		f, err := tryLock(path, how)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if waited := time.Since(began); waited > stoppedPatience {
			pid := holder(path)
			switch {
			case isStopped(pid):
				return nil, fmt.Errorf("process %[2]d, a lifepod, is suspended and holds %[1]s: resume it (kill -CONT %[2]d) or end it", path, pid)
			case waited > lockPatience:
				return nil, fmt.Errorf("process %[2]d, a lifepod, has held %[1]s for %[3]v", path, pid, lockPatience)
			}
		}
		if err := wait.sleep(ctx); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// isStopped says whether a process was stopped by a signal or a debugger.
func isStopped(pid int) bool {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := pidfd.Stat(proc)
	return err == nil && strings.EqualFold(stat.State, "T")
}

// backoff doubles its wait up to a limit.
type backoff struct {
	next, limit time.Duration
}

func newBackoff(first, limit time.Duration) *backoff {
	return &backoff{next: first, limit: limit}
}

// sleep waits, unless ctx is done first: then it returns the cause.
func (b *backoff) sleep(ctx context.Context) error {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, b.limit)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
