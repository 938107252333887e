package space

import (
	"time"

	"github.com/lifepod/lifepod/roster/pressure"
)

// rest is the longest pause between two looks, the kubelet's.
const rest = 10 * time.Second

// pace says how fast something may be used up, in bytes or pieces a second, and the
// shortest pause between two looks at it.
type pace struct {
	perSecond int64
	shortest  time.Duration
}

func paceOf(signal pressure.Signal) pace {
	switch signal {
	case pressure.Memory, pressure.AllocatableMemory: // as fast as one process touches new pages
		return pace{2 << 30, 100 * time.Millisecond}
	case pressure.PIDs:
		return pace{10_000, 250 * time.Millisecond}
	case pressure.NodeFsInodes, pressure.ImageFsInodes, pressure.ContainerFsInodes:
		return pace{50_000, time.Second}
	default:
		return pace{512 << 20, time.Second}
	}
}

// metPause is the pause while a threshold is met: what is being reclaimed needs its time,
// and whoever does it asks for a look when that is over.
const metPause = time.Second

// pause is how long nothing needs to be measured: until the nearest threshold may be
// reached.
func pause(thresholds []pressure.Threshold, seen pressure.Observations) time.Duration {
	next := rest
	for i := range thresholds {
		t := &thresholds[i]
		observed, known := seen[t.Signal]
		if !known {
			continue
		}
		left, pace := t.Left(observed), paceOf(t.Signal)
		if left <= 0 {
			next = min(next, metPause)
			continue
		}
		seconds := float64(left) / float64(pace.perSecond)
		next = min(next, max(pace.shortest, time.Duration(min(seconds, rest.Seconds())*float64(time.Second))))
	}
	return next
}
