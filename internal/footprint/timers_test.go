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

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLateTimers: all threads have the slack, also those begun later, and a program that was started OnTime has not.
func TestLateTimers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Cleanup(func() {
		assert.NoError(t, LateTimers(kernelSlack))
	})
	assert.Must(t, LateTimers(10*time.Millisecond))
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
		assert.True(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
		assert.True(t, err != nil || strings.TrimSpace(string(got)) == want, "a thread has %s", got)
	}
	slack := func(start func(func() error) error) string {
		var out bytes.Buffer
		cmd := exec.Command("cat", "/proc/self/timerslack_ns")
		cmd.Stdout = &out
		assert.Must(t, errors.Join(start(cmd.Start), cmd.Wait()))
		return strings.TrimSpace(out.String())
	}
	if got := slack(func(start func() error) error { return start() }); got != want {
		t.Errorf("a program inherits %s: OnTime isn't needed", got)
	}
	assert.Equal(t, "50000", slack(OnTime), "a program that was started on time")
	assert.Equal(t, want, slack(func(start func() error) error { return start() }), "the thread that started")
}
