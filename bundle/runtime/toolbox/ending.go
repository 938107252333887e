package toolbox

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ending is what a signal that ends processes does to this one.
type ending struct {
	mu     sync.Mutex // guards what follows
	code   int        // -1: 128 plus the number of the signal
	ignore bool
	// handled says that the applet has handlers of its own, as the shell does.
	handled bool
}

// EndingSignals are the signals that end a process by default and can be
// caught, the real-time ones included.
func EndingSignals() []os.Signal {
	signals := []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
	}
	for n := syscall.Signal(34); n <= 64; n++ {
		signals = append(signals, n)
	}
	return signals
}

// watch ends the process on a signal from now on.
func watch(c *Call) *ending {
	e := &ending{code: -1}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, EndingSignals()...)
	go func() {
		for s := range signals {
			e.on(c, s.(syscall.Signal))
		}
	}()
	return e
}

func (e *ending) on(c *Call, s syscall.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.handled:
	case e.ignore:
		fmt.Fprintf(c.Stderr, "%s: %v ignored\n", c.Name, s)
	case e.code >= 0:
		os.Exit(e.code)
	default:
		os.Exit(128 + int(s))
	}
}

// HandleSignals leaves the signals to the applet.
func (c *Call) HandleSignals() {
	c.ending.mu.Lock()
	defer c.ending.mu.Unlock()
	c.ending.handled = true
}

// EndingFlags adds --on-term and --ignore-term.
func (c *Call) EndingFlags() {
	c.ending.mu.Lock()
	defer c.ending.mu.Unlock()
	c.Flags.IntVar(&c.ending.code, "on-term", -1, "exit with this code on a signal (default 128 plus its number)")
	c.Flags.BoolVar(&c.ending.ignore, "ignore-term", false, "go on after a signal")
}
