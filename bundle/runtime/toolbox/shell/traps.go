package shell

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/interp"

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

// kill [-SIGNAL] PID….
func kill(hc interp.HandlerContext, args []string) error {
	signal := syscall.SIGTERM
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		var err error
		if signal, err = parseSignal(args[0][1:]); err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %v\n", err)
			return interp.ExitStatus(2)
		}
		args = args[1:]
	}
	var status error
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			err = errors.New("want a process ID, which $! is not")
		} else {
			err = syscall.Kill(pid, signal)
		}
		if err != nil {
			fmt.Fprintf(hc.Stderr, "kill: %s: %v\n", arg, err)
			status = interp.ExitStatus(1)
		}
	}
	return status
}

// parseSignal reads "TERM", "SIGTERM", "15" and "RTMIN+3".
func parseSignal(s string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= 64 {
		return syscall.Signal(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if n := unix.SignalNum("SIG" + name); n != 0 {
		return n, nil
	}
	if offset, found := strings.CutPrefix(name, "RTMIN"); found {
		n, err := strconv.Atoi("0" + strings.TrimPrefix(offset, "+"))
		if err == nil && n <= 30 {
			return syscall.Signal(34 + n), nil
		}
	}
	return 0, fmt.Errorf("signal %q is not known", s)
}
