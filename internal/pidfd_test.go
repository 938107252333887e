package internal_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/compare"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// child starts a process that lasts until it is stopped.
func child(t *testing.T) pidfd.ID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	id, err := pidfd.Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPIDFDOpenAndStop(t *testing.T) {
	p, err := pidfd.Open(child(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	select {
	case <-p.Ended():
		t.Fatal("it counts as ended before it was stopped")
	default:
	}
	if err := p.Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	// It is a zombie now, and that has ended too.
	if _, err := pidfd.Open(p.ID); !errors.Is(err, pidfd.ErrEnded) {
		t.Errorf("opening a zombie: error %v, want %v", err, pidfd.ErrEnded)
	}
}

func TestPIDFDStopKills(t *testing.T) {
	p, err := pidfd.Open(child(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Stopped, it does not notice TERM.
	if err := p.Stop(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
}

// A PID that is used again is another process.
func TestPIDFDOpenRefusesReusedPID(t *testing.T) {
	id := child(t)
	id.StartTicks++
	if _, err := pidfd.Open(id); !errors.Is(err, pidfd.ErrEnded) {
		t.Errorf("error %v, want %v", err, pidfd.ErrEnded)
	}
	if _, err := pidfd.Open(pidfd.ID{PID: 1 << 22, StartTicks: 1}); !errors.Is(err, pidfd.ErrEnded) {
		t.Errorf("error %v, want %v", err, pidfd.ErrEnded)
	}
}

func TestPIDFDProgram(t *testing.T) {
	want, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := procfs.NewProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	compare.Equal(t, "program", want, pidfd.Program(self))
	if got := pidfd.Arguments(os.Getpid()); !slices.Equal(got, os.Args) {
		t.Errorf("command line %q, want %q", got, os.Args)
	}
}
