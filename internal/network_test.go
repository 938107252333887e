package internal_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// A program that is started there is in the process's network; once that has ended nothing is.
func TestInNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	sleep := exec.Command("sleep", "infinity")
	sleep.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	assert.Must(t, sleep.Start())
	process := assert.Get(pidfd.Find(sleep.Process.Pid)).Must(t)
	want := assert.Get(os.Readlink(fmt.Sprintf("/proc/%d/ns/net", process.PID))).Must(t)
	var got []byte
	err := process.InNetwork(func() (err error) {
		got, err = exec.Command("readlink", "/proc/self/ns/net").Output()
		return err
	})
	assert.Must(t, err, sleep.Process.Kill())
	assert.Equal(t, want, strings.TrimSpace(string(got)), "network")
	_ = sleep.Wait() // killed
	assert.ErrorContains(t, "enter the pod's network", process.InNetwork(func() error { return nil }))
}
