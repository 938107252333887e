package stages

import (
	"fmt"
	"time"

	"github.com/lifepod/lifepod/sim/scenario"
)

// Delay is a time that passes: one between two, all of them as likely.
type Delay struct {
	Least, Most time.Duration
	// Rough says that it is a sum of several that are drawn, which is not equally likely everywhere.
	Rough bool
}

// And is one delay after another.
func (d Delay) And(e Delay) Delay {
	return Delay{d.Least + e.Least, d.Most + e.Most, d.Rough || e.Rough || d.drawn() && e.drawn()}
}

func (d Delay) drawn() bool { return d.Least != d.Most }

// String is the delay as a scenario has it.
func (d Delay) String() string {
	if d.drawn() {
		return fmt.Sprintf("uniform(%v,%v)", d.Least, d.Most)
	}
	return d.Least.String()
}

// Span is the delay in a scenario.
func (d Delay) Span() *scenario.Span {
	span, err := scenario.ParseSpan(d.String())
	if err != nil {
		return scenario.Fixed(scenario.Forever)
	}
	return &span
}

// delayOf is how long a Stage waits before it applies: from its duration to its jitter, or as long as the jitter if that
// is shorter, as in KWOK. In a scenario no time is negative, nor longer than ten years.
func (s *Stage) delayOf(pod map[string]any, now time.Time) Delay {
	d := s.spec.Delay
	if d == nil {
		return Delay{}
	}
	milliseconds := d.DurationMilliseconds
	if milliseconds == nil {
		milliseconds = new(int64)
	}
	duration, has := s.duration.durationOf(milliseconds, pod, now)
	if !has {
		return Delay{}
	}
	jitter, has := s.jitter.durationOf(d.JitterDurationMilliseconds, pod, now)
	switch {
	case !has:
		jitter = duration
	case jitter <= duration:
		duration = jitter
	}
	return Delay{Least: within(duration), Most: within(jitter)}
}

func within(d time.Duration) time.Duration { return min(max(d, 0), scenario.Forever) }
