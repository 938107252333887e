package footprint

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/compare"
)

// TestLateTimers: all threads have the slack, also those begun later, and a program that was started OnTime has not.
func TestLateTimers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Cleanup(func() {
		if err := LateTimers(kernelSlack); err != nil {
			t.Error(err)
		}
	})
	if err := LateTimers(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	const want = "10000000"
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	for range 20 { // each holds a thread, so most need a new one
		go func() {
			runtime.LockOSThread()
			begun <- struct{}{}
			<-end
		}()
		<-begun
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		got, err := os.ReadFile(filepath.Join("/proc", filepath.Base(thread), "timerslack_ns"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err == nil && strings.TrimSpace(string(got)) != want {
			t.Errorf("a thread has %s", got)
		}
	}
	slack := func(start func(func() error) error) string {
		var out bytes.Buffer
		cmd := exec.Command("cat", "/proc/self/timerslack_ns")
		cmd.Stdout = &out
		if err := errors.Join(start(cmd.Start), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := slack(func(start func() error) error { return start() }); got != want {
		t.Errorf("a program inherits %s: OnTime isn't needed", got)
	}
	compare.Equal(t, "a program that was started on time has", "50000", slack(OnTime))
	compare.Equal(t, "the thread that started it has", want, slack(func(start func() error) error { return start() }))
}
