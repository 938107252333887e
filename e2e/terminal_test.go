package e2e

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/e2e/terminal"
)

// keyboard is the user's side of a terminal, theirs that of a program.
type keyboard struct{ ours, theirs *os.File }

func newKeyboard(t *testing.T) *keyboard {
	t.Helper()
	ours, theirs, err := terminal.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return &keyboard{ours: ours, theirs: theirs}
}

func (u *keyboard) resize(t *testing.T, rows, columns uint16) {
	t.Helper()
	if err := terminal.Resize(u.ours, rows, columns); err != nil {
		t.Fatal(err)
	}
}

// write types.
func (u *keyboard) write(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(u.ours, keys); err != nil {
		t.Fatal(err)
	}
}

// start starts a lifepod on the terminal; what it shows is the command's stdout.
func (u *keyboard) start(t *testing.T, r *root, args ...string) *command {
	t.Helper()
	c := &command{
		t: t, process: exec.Command(binary, append([]string{"--root", r.dir}, args...)...),
		stdout: newStream(), stderr: newStream(), ended: make(chan struct{}),
	}
	c.process.Stdin, c.process.Stdout, c.process.Stderr = u.theirs, u.theirs, u.theirs
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(c.stdout, u.ours) }() // until the test closes it
	go func() {
		_ = c.process.Wait() // its exit code says all
		close(c.ended)
	}()
	t.Cleanup(c.end)
	return c
}
