// Package process measures what processes take of the machine.
package process

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// CPUTime is what processes have used since their starts, to the nanosecond: a tick of
// /proc would be a large part of what little there is.
func CPUTime(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		const scheduler = 2                        // CPUCLOCK_SCHED of the kernel
		clock := int32(^pid)<<3 | int32(scheduler) // as clock_getcpuclockid makes it
		var t unix.Timespec
		if err := unix.ClockGettime(clock, &t); err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// Load is what processes take.
type Load struct {
	CPU                 float64 // percent of a core
	Resident, Anonymous float64 // MiB
	Proportional        float64 // MiB; a page of several processes counts in equal parts for each
}

// LoadOf is the CPU that processes use while something lasts, and their memory at its end.
func LoadOf(lasts func() error, pids ...int) (l Load, err error) {
	before, err := CPUTime(pids...)
	if err != nil {
		return l, err
	}
	began := time.Now()
	if err := lasts(); err != nil {
		return l, err
	}
	after, err := CPUTime(pids...)
	if err != nil {
		return l, err
	}
	l.CPU = 100 * (after - before).Seconds() / time.Since(began).Seconds()
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return l, err
		}
		memory, err := p.ProcSMapsRollup()
		if err != nil {
			return l, err
		}
		l.Resident += mib(memory.Rss)
		l.Anonymous += mib(memory.Anonymous)
		l.Proportional += mib(memory.Pss)
	}
	return l, nil
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

func (l Load) String() string {
	return fmt.Sprintf("%.2f %% of a core, %.1f MiB resident, %.1f MiB of it anonymous", l.CPU, l.Resident, l.Anonymous)
}
