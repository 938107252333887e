package toolbox

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// ending is what a signal that ends processes does to this one.
type ending struct {
	mu     sync.Mutex
	code   int // -1: 128 plus the number of the signal
	ignore bool
	delay  time.Duration
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
func (e *ending) watch(c *Call) {
	e.code = -1
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, EndingSignals()...)
	go func() {
		for s := range signals {
			e.on(c, s.(syscall.Signal))
		}
	}()
}

func (e *ending) on(c *Call, s syscall.Signal) {
	e.mu.Lock()
	code, ignore, delay, handled := e.code, e.ignore, e.delay, e.handled
	e.mu.Unlock()
	if code < 0 {
		code = 128 + int(s)
	}
	switch {
	case handled:
	case ignore:
		fmt.Fprintf(c.Stderr, "%s: %v ignored\n", c.Name, s)
	case delay > 0:
		fmt.Fprintf(c.Stderr, "%s: %v, ends in %v with %d\n", c.Name, s, delay, code)
		time.AfterFunc(delay, func() { os.Exit(code) })
	default:
		os.Exit(code)
	}
}

// HandleSignals leaves the signals to the applet.
func (c *Call) HandleSignals() {
	c.ending.mu.Lock()
	defer c.ending.mu.Unlock()
	c.ending.handled = true
}

// EndingFlags adds --on-term, --ignore-term and --trap-delay; the function it
// gives puts them in force after parsing.
func (c *Call) EndingFlags(flags *pflag.FlagSet) (apply func()) {
	code := flags.Int("on-term", -1, "exit with this code on a signal (default 128 plus its number)")
	ignore := flags.Bool("ignore-term", false, "go on after a signal")
	delay := flags.Duration("trap-delay", 0, "how long to go on after a signal")
	return func() {
		c.ending.mu.Lock()
		defer c.ending.mu.Unlock()
		c.ending.code, c.ending.ignore, c.ending.delay = *code, *ignore, *delay
	}
}
