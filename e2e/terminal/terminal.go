// Package terminal gives tests a user's terminal with a program on it.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// Terminal is one of 100 columns and 30 rows.
type Terminal struct {
	t       *testing.T
	keys    *os.File
	program *exec.Cmd

	mu     sync.Mutex
	screen bytes.Buffer
	shown  chan struct{} // a value when something was shown; closed at the end
}

// Start starts a program, which is fresh, on a terminal.
func Start(t *testing.T, program *exec.Cmd) *Terminal {
	t.Helper()
	ours, theirs, err := Open()
	assert.Must(t, err)
	defer theirs.Close()
	t.Cleanup(func() { _ = ours.Close() })
	assert.Must(t, Resize(ours, 30, 100))
	u := &Terminal{t: t, keys: ours, shown: make(chan struct{}, 1), program: program}
	program.Stdin, program.Stdout, program.Stderr = theirs, theirs, theirs
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	assert.Must(t, program.Start())
	go u.watch()
	return u
}

// Open makes a terminal: ours is the side of the keyboard and the screen.
func Open() (ours, theirs *os.File, err error) {
	if ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return ours, theirs, err
}

// Resize gives a terminal another size.
func Resize(ours *os.File, rows, columns uint16) error {
	return unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
}

// Resize gives it another size.
func (u *Terminal) Resize(rows, columns uint16) {
	u.t.Helper()
	assert.Must(u.t, Resize(u.keys, rows, columns))
}

// Restored says whether a program that has drawn on the whole screen has left it: the alternate screen,
// and with the cursor shown.
func (u *Terminal) Restored() bool {
	text := u.Text()
	return strings.LastIndex(text, "\x1b[?1049l") > strings.LastIndex(text, "\x1b[?1049h") && strings.LastIndex(text, "\x1b[?25h") > strings.LastIndex(text, "\x1b[?25l")
}

// AwaitMore waits until a text is shown once more than so often.
func (u *Terminal) AwaitMore(text string, times int) {
	u.t.Helper()
	late := time.After(machine.Patience)
	for strings.Count(u.Text(), text) <= times {
		var more bool
		select {
		case _, more = <-u.shown:
		case <-late:
		}
		assert.Require(u.t, more || strings.Count(u.Text(), text) > times,
			"the terminal has not shown %q more than %d times, but %q", text, times, u.Text())
	}
}

func (u *Terminal) watch() {
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

func (u *Terminal) Text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.screen.String()
}

// Press types.
func (u *Terminal) Press(keys string) {
	u.t.Helper()
	assert.Must(u.t, assert.ErrorOf(io.WriteString(u.keys, keys)))
}

// Await waits until a text is shown.
func (u *Terminal) Await(text string) {
	u.t.Helper()
	u.AwaitMore(text, 0)
}

// End waits until the program ends, and returns its exit code.
func (u *Terminal) End() int {
	_ = u.program.Wait() // the code says it
	for range u.shown {  // until all is read
	}
	return u.program.ProcessState.ExitCode()
}
