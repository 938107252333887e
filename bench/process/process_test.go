package process

import (
	"os/exec"
	"testing"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// TestExiting: a process that has been killed is about to end, and has ended when somebody
// has taken note of it.
func TestExiting(t *testing.T) {
	cmd := exec.Command("sleep", "infinity")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	want := func(when string, want bool) {
		t.Helper()
		if got, err := Exiting(cmd.Process.Pid); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", when, got, err, want)
		}
	}
	want("while it runs", false)
	process, err := pidfd.OpenPID(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("as a zombie", true)
	_ = cmd.Wait() // it was killed
	want("when it is gone", true)
}
