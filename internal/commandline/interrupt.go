package commandline

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals are those that ask a command to end. A hangup does not under nohup, and
// neither does a quit in a shell's background. SIGABRT is left to Go: it ends the
// process with the stacks of all goroutines.
func EndSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}
