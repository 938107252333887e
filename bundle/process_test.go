package bundle

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// child starts a process that lasts until it is stopped.
func child(t *testing.T) identity {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ticks, err := startTicks(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return identity{PID: cmd.Process.Pid, StartTicks: ticks}
}

func TestWatchAndStop(t *testing.T) {
	p, err := watch(child(t))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		t.Fatal("it counts as ended before it was stopped")
	default:
	}
	if err := p.stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	// It is a zombie now, and that has ended too.
	if _, err := watch(p.identity); !errors.Is(err, errGone) {
		t.Errorf("watching a zombie: error %v, want %v", err, errGone)
	}
}

func TestStopKills(t *testing.T) {
	id := child(t)
	p, err := watch(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Stopped, it does not notice TERM.
	if err := p.stop(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-p.ended
}

// A pid that is used again is another process.
func TestWatchRefusesReusedPID(t *testing.T) {
	id := child(t)
	id.StartTicks++
	if _, err := watch(id); !errors.Is(err, errGone) {
		t.Errorf("error %v, want %v", err, errGone)
	}
	if _, err := watch(identity{PID: 1 << 22, StartTicks: 1}); !errors.Is(err, errGone) {
		t.Errorf("error %v, want %v", err, errGone)
	}
}

func TestExecutable(t *testing.T) {
	want, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := executable(os.Getpid()); err != nil || got != want {
		t.Errorf("executable %q, %v; want %q", got, err, want)
	}
	if got := commandLine(os.Getpid()); len(got) == 0 || got[0] != os.Args[0] {
		t.Errorf("command line %q, want %q first", got, os.Args[0])
	}
}
