package shell

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// traps are the actions of signals. The runner's own trap knows only EXIT and
// ERR.
type traps struct {
	// arrived is told of each trapped signal; it holds one at most.
	arrived chan syscall.Signal

	mu        sync.Mutex // guards what follows
	actions   map[syscall.Signal]string
	due       []string
	interrupt func() // Ctrl-C of an interactive shell; nil: it ends the shell
}

// newTraps takes the signals over from the applet's own handling.
func newTraps(c *toolbox.Call) *traps {
	t := &traps{arrived: make(chan syscall.Signal, 1), actions: map[syscall.Signal]string{}}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, toolbox.EndingSignals()...)
	c.HandleSignals()
	go func() {
		for s := range signals {
			t.on(s.(syscall.Signal))
		}
	}()
	return t
}

func (t *traps) on(s syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	action, trapped := t.actions[s]
	switch {
	case !trapped && t.interrupt != nil && s == syscall.SIGINT:
		t.interrupt()
	case !trapped && t.interrupt != nil && s == syscall.SIGQUIT: // Ctrl-\, which the terminal tells programs, too
	case !trapped:
		toolbox.SignalChildren(s)
		os.Exit(128 + int(s))
	case action != "":
		t.due = append(t.due, action)
		select {
		case t.arrived <- s:
		default:
		}
	}
}

// interrupted makes Ctrl-C call f instead of ending the shell.
func (t *traps) interrupted(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.interrupt = f
}

// pending are the actions to run now; each is given once.
func (t *traps) pending() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := t.due
	t.due = nil
	select {
	case <-t.arrived:
	default:
	}
	return due
}

// set does the signals of a trap command, and gives what is left of it for the
// runner: EXIT, which is also 0, and ERR.
func (t *traps) set(args []string) ([]string, error) {
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest[0]) == 2 && rest[0][0] == '-' {
		return args, nil
	}
	action, names := rest[0], rest[1:]
	if len(names) == 0 {
		action, names = "-", rest
	}
	own := []string{"trap", "--", action}
	for _, name := range names {
		switch name {
		case "0", "EXIT":
			own = append(own, "EXIT")
		case "ERR":
			own = append(own, name)
		default:
			s, err := parseSignal(name)
			if err != nil {
				return []string{replaced + "trap", err.Error()}, nil //nolint:nilerr // the command tells
			}
			t.put(s, action)
		}
	}
	if len(own) == 3 {
		return []string{"true"}, nil
	}
	return own, nil
}

func (t *traps) put(s syscall.Signal, action string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if action == "-" {
		delete(t.actions, s)
		return
	}
	t.actions[s] = action
}
