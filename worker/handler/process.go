package handler

import (
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// ticksPerSecond is the unit of a process's start time; it is the same on every
// machine that Go runs on.
const ticksPerSecond = 100

// ticksNow is now as a process's start time.
func ticksNow() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return uint64(t.Nano()) / (1e9 / ticksPerSecond)
}

// process is one of the machine, as far as it is known.
type process struct {
	pidfd.ID
	parent, session int
	writes          []string // the outputs it has that the shim reads, for recent ones
	entered         bool     // begun by the runtime, not from inside the container
	args            []string // of one that entered
	ended           bool     // it was not there any more at the last look
}

// read is a process that has not ended.
func read(proc procfs.Proc) (process, bool) {
	stat, err := pidfd.Stat(proc)
	return process{ID: pidfd.Of(stat), parent: stat.PPID, session: stat.Session}, err == nil
}

// pipes are those that a process has open.
func pipes(proc procfs.Proc) []string {
	targets, _ := proc.FileDescriptorTargets() // none, if it has ended
	return slices.DeleteFunc(targets, func(t string) bool { return !strings.HasPrefix(t, "pipe:") })
}
