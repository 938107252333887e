//go:build cgo

package container

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runc/libcontainer/system"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// executions is how often a process of TestLiveThread still has to execute itself, in a thread that is not its first.
const executions = "LIFEPOD_TEST_EXECUTIONS"

func init() {
	left, err := strconv.Atoi(os.Getenv(executions))
	if err != nil {
		return
	}
	if left == 0 {
		time.Sleep(time.Minute)
		return
	}
	_ = os.Setenv(executions, strconv.Itoa(left-1))
	runtime.LockOSThread()
	go func() {
		runtime.LockOSThread()
		_ = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}()
	select {}
}

// TestLiveThread: a process that executes programs lives all the time, although its first thread is a zombie now and then; one that was
// killed does not, and neither does another of the same number.
func TestLiveThread(t *testing.T) {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), executions+"=5000")
	assert.Must(t, command.Start())
	pid := command.Process.Pid
	defer func() { _ = command.Wait() }()
	defer func() { _ = command.Process.Kill() }()
	stat := assert.Get(system.Stat(pid)).Must(t)
	zombies := 0
	for deadline := time.Now().Add(time.Minute); zombies < 5; {
		assert.Require(t, !time.Now().After(deadline), "its first thread was a zombie %d times", zombies)
		if now, err := system.Stat(pid); err != nil || now.State != system.Zombie {
			continue
		}
		if zombies++; !hasLiveThread(pid, stat.StartTime) {
			t.Fatal("a process that executes a program has no thread")
		}
	}
	assert.True(t, !hasLiveThread(pid, stat.StartTime+1), "another process of that number has threads of this one")
	assert.Must(t, command.Process.Kill())
	for deadline := time.Now().Add(time.Minute); hasLiveThread(pid, stat.StartTime); time.Sleep(time.Millisecond) {
		assert.Require(t, !time.Now().After(deadline), "a process that was killed lives")
	}
}
