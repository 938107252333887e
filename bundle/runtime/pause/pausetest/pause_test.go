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

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
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
	info, err := os.Stat(program)
	must.Succeed(t, err)
	if info.Size() > 8<<10 {
		t.Errorf("%d bytes, want a few KB", info.Size())
	}
	file, err := elf.Open(program)
	must.Succeed(t, err)
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("it has %v: not static", part.Type)
		}
		if part.Type == elf.PT_GNU_STACK && part.Flags&elf.PF_X != 0 {
			t.Error("its stack is executable")
		}
	}
}

// waits returns when the process waits for signals.
func waits(t *testing.T, pid int) {
	t.Helper()
	want := strconv.Itoa(syscall.SYS_RT_SIGTIMEDWAIT) + " "
	for {
		call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		must.Succeed(t, err)
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
		must.Succeed(t, cmd.Start())
		waits(t, cmd.Process.Pid)
		must.Succeed(t, cmd.Process.Signal(signal))
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
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waits(t, cmd.Process.Pid)
	children := fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)
	for {
		left, err := os.ReadFile(children)
		must.Succeed(t, err)
		if len(left) == 0 {
			return
		}
	}
}
