package internal_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// child starts a process that lasts until it is stopped.
func child(t *testing.T) pidfd.ID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	assert.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return assert.Get(pidfd.Find(cmd.Process.Pid)).Must(t)
}

func TestPIDFDOpenAndStop(t *testing.T) {
	p := assert.Get(pidfd.Open(child(t))).Must(t)
	defer p.Close()
	select {
	case <-p.Ended():
		t.Fatal("it counts as ended before it was stopped")
	default:
	}
	assert.Must(t, p.Stop(t.Context(), time.Minute))
	// It is a zombie now, and that has ended too.
	assert.ErrorIs(t, pidfd.ErrEnded, assert.ErrorOf(pidfd.Open(p.ID)), "opening a zombie")
}

func TestPIDFDStopKills(t *testing.T) {
	p := assert.Get(pidfd.Open(child(t))).Must(t)
	defer p.Close()
	assert.Must(t, p.Signal(unix.SIGSTOP))
	// Stopped, it does not notice TERM.
	assert.Must(t, p.Stop(t.Context(), time.Millisecond))
	<-p.Ended()
}

// A PID that is used again is another process.
func TestPIDFDOpenRefusesReusedPID(t *testing.T) {
	id := child(t)
	id.StartTicks++
	assert.ErrorIs(t, pidfd.ErrEnded, assert.ErrorOf(pidfd.Open(id)))
	assert.ErrorIs(t, pidfd.ErrEnded, assert.ErrorOf(pidfd.Open(pidfd.ID{PID: 1 << 22, StartTicks: 1})))
}

func TestPIDFDProgram(t *testing.T) {
	want := assert.Get(os.Executable()).Must(t)
	self := assert.Get(procfs.NewProc(os.Getpid())).Must(t)
	assert.Equal(t, want, pidfd.Program(self), "program")
	got := pidfd.Arguments(os.Getpid())
	assert.True(t, slices.Equal(got, os.Args), "command line %q, want %q", got, os.Args)
}

func TestPIDFDKillChildren(t *testing.T) {
	child := exec.Command("sleep", "1000")
	assert.Must(t, child.Start())
	self := assert.Get(pidfd.OpenPID(os.Getpid())).Must(t)
	defer self.Close()
	self.KillChildren()
	err := child.Wait()
	assert.True(t, err != nil && child.ProcessState.String() == "signal: killed", "the child ended with %v, want it killed", err)
}
