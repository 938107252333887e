package pidfd

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// child starts a process that lasts until it is stopped.
func child(t *testing.T) ID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	id, err := Find(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestOpenAndStop(t *testing.T) {
	p, err := Open(child(t))
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
	if _, err := Open(p.ID); !errors.Is(err, ErrEnded) {
		t.Errorf("opening a zombie: error %v, want %v", err, ErrEnded)
	}
}

func TestStopKills(t *testing.T) {
	p, err := Open(child(t))
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
func TestOpenRefusesReusedPID(t *testing.T) {
	id := child(t)
	id.StartTicks++
	if _, err := Open(id); !errors.Is(err, ErrEnded) {
		t.Errorf("error %v, want %v", err, ErrEnded)
	}
	if _, err := Open(ID{PID: 1 << 22, StartTicks: 1}); !errors.Is(err, ErrEnded) {
		t.Errorf("error %v, want %v", err, ErrEnded)
	}
}

func TestProgram(t *testing.T) {
	want, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := procfs.NewProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got := Program(self); got != want {
		t.Errorf("program %q, want %q", got, want)
	}
	if got := Arguments(os.Getpid()); !slices.Equal(got, os.Args) {
		t.Errorf("command line %q, want %q", got, os.Args)
	}
}
