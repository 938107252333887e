package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/lifepod/lifepod/internal/plain"
)

// terminal is the user's terminal while a session in a container has it: raw,
// so that every key goes to the session.
type terminal struct {
	fd    int
	state *term.State
	moved chan os.Signal
}

// openTerminal makes the terminal of standard input raw; without a terminal it is an error.
func openTerminal(stdin io.Reader) (*terminal, error) {
	fd, is := plain.Terminal(stdin)
	if !is {
		return nil, fmt.Errorf("standard input is no terminal")
	}
	t := &terminal{fd: fd, moved: make(chan os.Signal, 1)}
	var err error
	if t.state, err = term.MakeRaw(t.fd); err != nil {
		return nil, fmt.Errorf("make the terminal raw: %w", err)
	}
	signal.Notify(t.moved, unix.SIGWINCH)
	t.moved <- unix.SIGWINCH // the first size
	return t, nil
}

// Next is the next size of the terminal, nil when the session is over.
func (t *terminal) Next() *remotecommand.TerminalSize {
	if _, open := <-t.moved; !open {
		return nil
	}
	width, height, err := term.GetSize(t.fd)
	if err != nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)}
}

// close gives the terminal back as it was.
func (t *terminal) close() {
	signal.Stop(t.moved)
	close(t.moved)
	_ = term.Restore(t.fd, t.state) // a terminal that has gone needs nothing
}
