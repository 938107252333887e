package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Used is what a container that runs uses, and has used.
type Used struct {
	Container   string
	CPU         time.Duration // since the instance was started, all CPUs together
	MemoryBytes int64         // at the moment
}

// level is what an instance uses from a time on, since it began.
type level struct {
	from time.Duration
	says *scenario.Usage
}

// Usage is what the containers use that run, by name.
func (p *Pod) Usage(now time.Time) (list []Used) {
	p.Happen(now)
	for _, running := range p.w.runtime.Containers {
		if c := running.Process.(*container); c.State == lifecycle.StateRunning {
			list = append(list, c.used(p.w.now-c.began))
		}
	}
	slices.SortFunc(list, func(a, b Used) int { return strings.Compare(a.Container, b.Container) })
	return list
}

// used is what an instance has used so long after it began: at first what it requests.
func (c *container) used(after time.Duration) Used {
	u := Used{Container: c.spec.Name, CPU: scenario.UsualStart, MemoryBytes: scenario.UsualMemory}
	milli := int64(scenario.UsualMilliCPU)
	if r := c.spec.Resources.Requests; !r.Cpu().IsZero() {
		milli = r.Cpu().MilliValue()
	}
	if r := c.spec.Resources.Requests; !r.Memory().IsZero() {
		u.MemoryBytes = r.Memory().Value()
	}
	levels := slices.SortedStableFunc(slices.Values(c.drawn.uses), func(a, b level) int { return cmp.Compare(a.from, b.from) })
	since := time.Duration(0)
	for _, l := range levels {
		if l.from > after {
			break
		}
		u.CPU, since = u.CPU+taken(milli, l.from-since), l.from
		if l.says.CPU != nil {
			milli = l.says.CPU.MilliValue()
		}
		if l.says.Memory != nil {
			u.MemoryBytes = l.says.Memory.Value()
		}
	}
	u.CPU += taken(milli, after-since)
	return u
}

// taken is the CPU time that thousandths of CPUs take for some time.
func taken(milli int64, of time.Duration) time.Duration {
	return time.Duration(float64(milli) / 1000 * float64(of))
}
