package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a user's terminal: ours is the side of the keyboard and the screen.
type terminal struct{ ours, theirs *os.File }

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return &terminal{ours: ours, theirs: theirs}
}

func (u *terminal) resize(t *testing.T, rows, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(u.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// write types.
func (u *terminal) write(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(u.ours, keys); err != nil {
		t.Fatal(err)
	}
}

// start starts a lifepod on the terminal; what it shows is the command's stdout.
func (u *terminal) start(t *testing.T, r *root, args ...string) *command {
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
