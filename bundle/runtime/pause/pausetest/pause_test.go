// Package pausetest tests the pause program; its folder can't hold Go files
// beside the C file.
package pausetest

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// build compiles pause as bundle/build does.
func build(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "pause")
	cmd := exec.Command("cc", "@cflags", "-o", out, "pause.c")
	cmd.Dir = ".."
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return out
}

func TestProgramIsSmallAndNeedsNothing(t *testing.T) {
	program := build(t)
	info := assert.Get(os.Stat(program)).Must(t)
	assert.True(t, info.Size() <= 8<<10, "%d bytes, want a few KB", info.Size())
	file := assert.Get(elf.Open(program)).Must(t)
	defer file.Close()
	for _, part := range file.Progs {
		assert.True(t, part.Type != elf.PT_INTERP && part.Type != elf.PT_DYNAMIC, "it has %v: not static", part.Type)
		assert.True(t, part.Type != elf.PT_GNU_STACK || part.Flags&elf.PF_X == 0, "its stack is executable")
	}
}

// waits returns when the process waits for signals.
func waits(t *testing.T, pid int) {
	t.Helper()
	want := strconv.Itoa(syscall.SYS_RT_SIGTIMEDWAIT) + " "
	for {
		call := assert.Get(os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))).Must(t)
		if strings.HasPrefix(string(call), want) {
			return
		}
	}
}

func TestSignalsEndProcess1(t *testing.T) {
	program := build(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(program)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		assert.Must(t, cmd.Start())
		waits(t, cmd.Process.Pid)
		assert.Must(t, cmd.Process.Signal(signal))
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() || status.ExitStatus() != 0 {
			t.Errorf("%v: %v, want exit status 0", signal, cmd.ProcessState)
		}
	}
}

// TestReapsOrphans has pause inherit a process that was another's child: as
// process 1 it is what a shell becomes after starting one.
func TestReapsOrphans(t *testing.T) {
	program := build(t)
	cmd := exec.Command("/bin/sh", "-c", "/bin/true & exec "+program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waits(t, cmd.Process.Pid)
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)
	for {
		left := assert.Get(os.ReadFile(children)).Must(t)
		if len(left) == 0 {
			return
		}
	}
}
