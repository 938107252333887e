package toolbox

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"
)

// eat-memory SIZE: uses every page of it, a step at a time, then holds it.
func eatMemory(c *Call) int {
	flags := c.Flags("[--step SIZE] [--interval DURATION] [--hold DURATION] SIZE")
	stepSize := flags.String("step", "8Mi", "how much at a time")
	interval := flags.Duration("interval", 0, "time between two steps")
	hold := flags.String("hold", "infinity", "how long to keep it before exit 0")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	apply()
	if flags.NArg() != 1 {
		return c.Fail(Usage, errors.New("want SIZE, such as 64Mi"))
	}
	size, err := humanize.ParseBytes(flags.Arg(0))
	if err != nil {
		return c.Fail(Usage, err)
	}
	step, err := humanize.ParseBytes(*stepSize)
	if err != nil || step == 0 {
		return c.Fail(Usage, fmt.Errorf("step %q: %w", *stepSize, err))
	}
	keep, err := parseDuration(*hold)
	if err != nil {
		return c.Fail(Usage, err)
	}
	var eaten [][]byte
	for left := size; left > 0; {
		part := make([]byte, min(step, left))
		for i := 0; i < len(part); i += 4096 {
			part[i] = 1
		}
		eaten = append(eaten, part)
		left -= uint64(len(part))
		time.Sleep(*interval)
	}
	fmt.Fprintf(c.Stdout, "eaten %s\n", flags.Arg(0))
	time.Sleep(keep)
	runtime.KeepAlive(eaten)
	return 0
}

// burn-cpu [--workers N] [DURATION].
func burnCPU(c *Call) int {
	flags := c.Flags("[--workers N] [DURATION]")
	workers := flags.Int("workers", 1, "how many CPUs to keep busy")
	apply := c.EndingFlags(flags)
	if err := flags.Parse(c.Args); err != nil {
		return c.Fail(Usage, err)
	}
	apply()
	limit := forever
	if flags.NArg() > 0 {
		var err error
		if limit, err = parseDuration(flags.Arg(0)); err != nil {
			return c.Fail(Usage, err)
		}
	}
	// One thread more than workers, so that signals are still handled.
	runtime.GOMAXPROCS(*workers + 1)
	for range *workers {
		go func() {
			for n := uint64(1); ; n = n*6364136223846793005 + 1 {
			}
		}()
	}
	time.Sleep(limit)
	return 0
}
