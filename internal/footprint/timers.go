package footprint

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// kernelSlack is how late the kernel lets timers be of threads that ask for nothing else.
const kernelSlack = 50 * time.Microsecond

// LateTimers lets timers of this process be late by up to slack while it does nothing else, so that the
// kernel wakes it once for many: control planes have hundreds that tick twice a second. What is read, or
// woken by another goroutine, is as early as before. It is of all threads, and of those that they begin;
// programs would inherit it, but for those that are started OnTime.
func LateTimers(slack time.Duration) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("timers of this process: %w", err)
	}
	for _, thread := range threads {
		path := filepath.Join("/proc", thread.Name(), "timerslack_ns")
		err := os.WriteFile(path, []byte(strconv.FormatInt(slack.Nanoseconds(), 10)), 0)
		if err != nil && !os.IsNotExist(err) { // a thread that has ended
			return fmt.Errorf("timers of this process: %w", err)
		}
	}
	return nil
}

// OnTime runs start, which starts a program whose timers are not to be late.
func OnTime(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("timers of a thread: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(kernelSlack.Nanoseconds()), 0, 0, 0); err != nil {
		return fmt.Errorf("timers of a thread: %w", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) }() // as it has just done
	return start()
}
