package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a user's terminal with a kubectl on it.
type terminal struct {
	t       *testing.T
	keys    *os.File
	kubectl *exec.Cmd

	mu     sync.Mutex
	screen bytes.Buffer
	shown  chan struct{} // a value when something was shown; closed at the end
}

// onTerminal starts kubectl on a terminal of 100 columns.
func (c *cluster) onTerminal(args ...string) *terminal {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	ours, theirs, err := openTerminal()
	if err != nil {
		c.t.Fatal(err)
	}
	defer theirs.Close()
	c.t.Cleanup(func() { _ = ours.Close() })
	u := &terminal{t: c.t, keys: ours, shown: make(chan struct{}, 1)}
	u.kubectl = plane.KubectlCommand(ctx, append([]string{"--namespace", c.namespace}, args...)...)
	u.kubectl.Stdin, u.kubectl.Stdout, u.kubectl.Stderr = theirs, theirs, theirs
	u.kubectl.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := u.kubectl.Start(); err != nil {
		c.t.Fatal(err)
	}
	go u.watch()
	return u
}

func openTerminal() (ours, theirs *os.File, err error) {
	if ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return ours, theirs, err
}

// watch keeps what is shown.
func (u *terminal) watch() {
	defer close(u.shown)
	buffer := make([]byte, 4096)
	for {
		n, err := u.keys.Read(buffer)
		if err != nil {
			return // nobody has the terminal any more
		}
		u.mu.Lock()
		u.screen.Write(buffer[:n])
		u.mu.Unlock()
		select {
		case u.shown <- struct{}{}:
		default:
		}
	}
}

func (u *terminal) text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.screen.String()
}

// press types.
func (u *terminal) press(keys string) {
	u.t.Helper()
	if _, err := io.WriteString(u.keys, keys); err != nil {
		u.t.Fatal(err)
	}
}

// await waits until a text is shown.
func (u *terminal) await(text string) {
	u.t.Helper()
	for !strings.Contains(u.text(), text) {
		if _, more := <-u.shown; !more && !strings.Contains(u.text(), text) {
			u.t.Fatalf("the terminal never showed %q, but %q", text, u.text())
		}
	}
}

// end waits until kubectl ends, and returns its exit code.
func (u *terminal) end() int {
	_ = u.kubectl.Wait() // the code says it
	for range u.shown {  // until all is read
	}
	return u.kubectl.ProcessState.ExitCode()
}
