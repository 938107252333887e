package sim

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Pod is what a pretended node has of a pod whose machine somebody else leads, such as a worker
// in real time. It is pure: each call says what time it is, which never goes back, and lets
// happen what is due by then. It is not safe for use by several goroutines at once.
type Pod struct {
	w     *world
	began time.Time
}

type PodOptions struct {
	Scenario *scenario.Scenario // nil: everything goes the usual way
	Seed     uint64
	Began    time.Time
	// Tell takes answers to effects, and what happens to the pod besides; it must not call the Pod.
	Tell func(lifecycle.Fact)
	// Output takes a line that a container writes; nil: nobody reads it.
	Output Output
	// Address is that of a new sandbox; nil: they have those of lives that Run simulates.
	Address func() string
	// Slow is how many times as long calls of the runtime take; 0: as long as usual.
	Slow float64
}

// Output takes a line that an instance of a container writes, which is numbered from 0.
type Output func(container string, instance int, stream, text string)

// NewPod is a pod of which the node has nothing yet.
func NewPod(pod *v1.Pod, o PodOptions) *Pod {
	if o.Scenario == nil {
		o.Scenario = &scenario.Scenario{}
	}
	w := newWorld(pod, Options{Scenario: o.Scenario, Seed: o.Seed})
	w.began, w.outside = o.Began, outside{learns: o.Tell, output: o.Output, slow: o.Slow}
	if o.Address != nil {
		w.runtime.address = o.Address
	}
	return &Pod{w: w, began: o.Began}
}

// Begin begins to carry an effect out, whose answer is reported.
func (p *Pod) Begin(now time.Time, e lifecycle.Effect) {
	p.Happen(now)
	p.w.call(e)
	p.Happen(now)
}

// Cancel gives an effect up if that is possible; it is answered all the same.
func (p *Pod) Cancel(now time.Time, id lifecycle.EffectID) {
	p.Happen(now)
	p.w.cancel(id)
	p.Happen(now)
}

// Happen lets happen what is due.
func (p *Pod) Happen(now time.Time) {
	until := now.Sub(p.began)
	for {
		next, more := p.w.queue.take(until)
		if !more {
			break
		}
		p.w.now = next.at
		p.w.due(&next)
	}
	p.w.now = max(p.w.now, until)
}

// Next is when something will happen by itself, if it does.
func (p *Pod) Next() (at time.Time, will bool) {
	last := len(p.w.queue) - 1
	if last < 0 {
		return time.Time{}, false
	}
	return p.began.Add(p.w.queue[last].at), true
}

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
	for _, s := range w.runtime.Sandboxes {
		s.Ready = false
	}
	for _, c := range w.runtime.Containers {
		w.runtime.End(c, lifecycle.ContainerExited{ExitCode: 255, Reason: "Unknown"}, w.wall())
	}
}

// slowed is how long a call takes on a node whose runtime is slow.
func slowed(w *world, e lifecycle.Effect, takes time.Duration) time.Duration {
	if w.outside.slow <= 1 || !ofRuntime(e) {
		return takes
	}
	return time.Duration(min(float64(takes)*w.outside.slow, float64(forever)))
}
