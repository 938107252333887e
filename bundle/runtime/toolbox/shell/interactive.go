package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/syntax"
)

// interactive is a shell with a user: it prompts for each line, and Ctrl-C ends what
// runs, or the line, but not the shell.
type interactive struct {
	sh    *shell
	input *os.File
	// wake is a pipe: an interrupt while a line is read writes into it.
	wake [2]int
	// read counts the bytes of the lines before. Jobs are identified by the position of
	// their command, so no two commands may have the same.
	read int

	mu     sync.Mutex
	cancel context.CancelFunc // ends what runs; nil while a line is read
}

// errInterrupted is Ctrl-C while a line is read.
var errInterrupted = errors.New("interrupted")

// isTerminal says whether a user may be at the other end of a file.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func newInteractive(sh *shell) (*interactive, error) {
	i := &interactive{sh: sh, input: sh.call.Stdin}
	if err := unix.Pipe2(i.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	sh.traps.interrupted(i.interrupt)
	return i, nil
}

// run reads and runs lines until the shell exits or its input ends, and gives the exit
// code of the last.
func (i *interactive) run() int {
	code := 0
	for {
		stmts, err := i.next()
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(i.sh.call.Stderr)
			return code
		case errors.Is(err, errInterrupted):
			fmt.Fprintln(i.sh.call.Stderr)
			code = 128 + int(unix.SIGINT)
			continue
		case err != nil:
			code = i.sh.call.Fail(2, err)
			continue
		}
		var exited bool
		if code, exited = i.runLine(stmts); exited {
			return code
		}
	}
}

// runLine runs the commands of a line until they end or are interrupted.
func (i *interactive) runLine(stmts []*syntax.Stmt) (code int, exited bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i.running(cancel)
	defer i.running(nil)
	for _, stmt := range stmts {
		i.sh.jobs.note(stmt)
		if code = i.sh.runIn(ctx, stmt); code == 128+int(unix.SIGINT) {
			awaitInterrupt(ctx)
		}
		if ctx.Err() != nil {
			fmt.Fprintln(i.sh.call.Stderr)
			return 128 + int(unix.SIGINT), false
		}
		if i.sh.runner.Exited() {
			return code, true
		}
	}
	return code, false
}

// awaitInterrupt waits, but not for long, for the shell's own signal of the Ctrl-C that
// ended a program: told later, it would end the next line's.
func awaitInterrupt(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

func (i *interactive) running(cancel context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
}

// interrupt is Ctrl-C. Programs that run get their own signal from the terminal.
func (i *interactive) interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel != nil {
		i.cancel()
		return
	}
	_, _ = unix.Write(i.wake[1], []byte{0}) // a full pipe wakes as well
}

// next reads lines until they are whole commands.
func (i *interactive) next() ([]*syntax.Stmt, error) {
	i.drain()
	text, prompt := "", i.prompt()
	for {
		fmt.Fprint(i.sh.call.Stderr, prompt)
		line, err := i.line()
		if err != nil {
			return nil, err
		}
		text, prompt = text+line, "> "
		if strings.HasSuffix(text, "\\\n") {
			continue
		}
		// What was read before is blank.
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(strings.Repeat(" ", i.read)+text), "")
		switch {
		case syntax.IsIncomplete(err):
			continue
		case err != nil:
			return nil, err
		}
		i.read += len(text)
		return file.Stmts, nil
	}
}

// prompt says where the shell is, and whether it is root.
func (i *interactive) prompt() string {
	sign := "$"
	if os.Geteuid() == 0 {
		sign = "#"
	}
	return i.sh.runner.Dir + " " + sign + " "
}

// line reads to the end of a line, and no further: what follows may be a program's.
func (i *interactive) line() (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		if err := i.await(len(line) > 0); err != nil {
			return "", err
		}
		n, err := i.input.Read(one)
		if n == 0 && err == nil {
			continue
		}
		if err != nil {
			return "", io.EOF // a terminal that has gone, too
		}
		if line = append(line, one[0]); one[0] == '\n' {
			return string(line), nil
		}
	}
}

// await returns when there is something to read, or the user has interrupted. A Ctrl-C
// makes the terminal forget the line that is typed, so that the rest of a line whose
// begin was read is from after it: an interrupt that is told late does not break it.
func (i *interactive) await(begun bool) error {
	for {
		ready := []unix.PollFd{{Fd: int32(i.wake[0]), Events: unix.POLLIN}, {Fd: int32(i.input.Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(ready, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case ready[0].Revents != 0 && (!begun || ready[1].Revents == 0):
			return errInterrupted
		default:
			return nil
		}
	}
}

// drain forgets interrupts that came while nothing was read.
func (i *interactive) drain() {
	for buffer := make([]byte, 16); ; {
		if n, err := unix.Read(i.wake[0], buffer); n <= 0 || err != nil {
			return
		}
	}
}
