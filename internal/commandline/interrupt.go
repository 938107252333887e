package commandline

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// EndSignals are those that ask a command to end. A hangup does not under nohup, and
// neither does a quit in a shell's background. SIGABRT is left to Go: it ends the
// process with the stacks of all goroutines.
func EndSignals() []os.Signal {
	signals := []os.Signal{unix.SIGINT, unix.SIGTERM}
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}
