package sim

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// PowerOff ends everything of the pod at once, as the loss of the machine's power does, and nobody learns of it. What the
// runtime has on disk stays: its records of sandboxes and containers, and images.
func (p *Pod) PowerOff(now time.Time) {
	p.Happen(now)
	p.w.outside.learns = func(lifecycle.Fact) {}
	powerOff(p.w)
}

// PowerOn has the machine be there again, after PowerOff. tell takes what happens from now on, in the place of
// PodOptions.Tell; the first is what the runtime has of the pod.
func (p *Pod) PowerOn(now time.Time, tell func(lifecycle.Fact)) {
	p.Happen(now) // which nobody learns
	p.w.agent.times++
	p.w.outside.learns = tell
	p.w.changed()
	p.w.look()
	p.Happen(now)
}

// powerOff ends the agent and everything that runs.
func powerOff(w *world) {
	w.crash()
	w.agent.saved.boot = true
	w.runtime.times++
	for _, s := range w.runtime.sandboxes {
		s.Ready = false
	}
	for _, c := range w.runtime.containers {
		exits(w, c, end{code: 255, reason: "Unknown"})
	}
}

// slowed is how long a call takes on a node whose runtime is slow.
func slowed(w *world, e lifecycle.Effect, takes time.Duration) time.Duration {
	if w.outside.slow <= 1 || !ofRuntime(e) {
		return takes
	}
	return time.Duration(min(float64(takes)*w.outside.slow, float64(forever)))
}
