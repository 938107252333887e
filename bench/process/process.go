// Package process measures what processes take of the machine.
package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is what a process has used since its start, to the nanosecond: a tick of
// /proc would be a large part of what little there is.
func CPUTime(pid int) (time.Duration, error) {
	const scheduler = 2                        // CPUCLOCK_SCHED of the kernel
	clock := int32(^pid)<<3 | int32(scheduler) // as clock_getcpuclockid makes it
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory is a process's resident memory in MiB, and the part of it that is
// anonymous: the rest are pages of its binary.
func Memory(pid int) (resident, anonymous float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		into := map[string]*float64{"VmRSS": &resident, "RssAnon": &anonymous}[name]
		if into == nil {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s of process %d: %w", name, pid, err)
		}
		*into = kib / 1024
	}
	return resident, anonymous, nil
}
