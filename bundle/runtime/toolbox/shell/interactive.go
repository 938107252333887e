package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/syntax"
)

// interactive is a shell with a user: it prompts for each line, and Ctrl-C ends what
// runs, or the line, but not the shell.
type interactive struct {
	sh *shell
	// typed gets what a read of the input gives, while reading says that there is one. A terminal
	// gives a line at most, so that what follows it may be a program's. It is closed at the end.
	typed   chan []byte
	reading bool
	rest    []byte // that was typed and is not parsed
	// interrupted is told of Ctrl-C while nothing runs.
	interrupted chan struct{}

	mu     sync.Mutex
	cancel context.CancelFunc // ends what runs; nil while a line is read
}

// errInterrupted is Ctrl-C while a line is read.
var errInterrupted = errors.New("interrupted")

func newInteractive(sh *shell) *interactive {
	i := &interactive{sh: sh, typed: make(chan []byte, 1), interrupted: make(chan struct{}, 1)}
	sh.traps.interrupted(i.interrupt)
	return i
}

// run reads and runs lines until the shell exits or its input ends, and gives the exit
// code of the last.
func (i *interactive) run() int {
	code := 0
	for {
		var problem error
		parser := newParser()
		i.prompt()
		for stmts, err := range parser.InteractiveSeq(i) {
			if problem = err; err != nil {
				break
			}
			if parser.Incomplete() {
				fmt.Fprint(i.sh.call.Stderr, "> ")
				continue
			}
			var exited bool
			if code, exited = i.runLine(stmts, code); exited {
				return code
			}
			i.prompt()
		}
		i.rest = nil
		switch {
		case problem == nil:
			fmt.Fprintln(i.sh.call.Stderr)
			return code
		case errors.Is(problem, errInterrupted):
			fmt.Fprintln(i.sh.call.Stderr)
			code = 128 + int(unix.SIGINT)
		default:
			code = i.sh.complain(problem)
		}
	}
}

// runLine runs the commands of a line until they end or are interrupted, and gives the exit code of the
// last, or the one before the line if it has none.
func (i *interactive) runLine(stmts []*syntax.Stmt, before int) (code int, exited bool) {
	code = before
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i.running(cancel)
	defer i.running(nil)
	for _, stmt := range stmts {
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
// ended a program: reported later, it would end the next line's.
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
	select {
	case i.interrupted <- struct{}{}:
	default:
	}
}

// prompt says where the shell is, and whether it is root.
func (i *interactive) prompt() {
	sign := "$"
	if os.Geteuid() == 0 {
		sign = "#"
	}
	fmt.Fprint(i.sh.call.Stderr, i.sh.runner.Dir+" "+sign+" ")
}

// Read gives the parser what the user types, until Ctrl-C. What is typed after that is the
// next parser's.
func (i *interactive) Read(p []byte) (int, error) {
	if len(i.rest) == 0 {
		if !i.reading {
			i.reading = true
			go func() {
				text := make([]byte, 4096)
				n, err := i.sh.call.Stdin.Read(text)
				if err != nil { // a terminal that has gone, too
					close(i.typed)
					return
				}
				i.typed <- text[:n]
			}()
		}
		select {
		case text, ok := <-i.typed:
			if !ok {
				return 0, io.EOF
			}
			i.reading, i.rest = false, text
		case <-i.interrupted:
			return 0, errInterrupted
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}
