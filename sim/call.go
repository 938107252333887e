package sim

import (
	"reflect"
	"slices"
	"time"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// calls are those under way, and how the scenario changes them.
type calls struct {
	underWay []*call // in the order of their beginning
	changes  scenario.Changes
	room     room // for resizes
}

// call is an effect that is being carried out.
type call struct {
	effect lifecycle.Effect
	over   bool // it was answered
	undone bool // it was given up before it did anything

	of    int           // the runtime that it was made to, by how often that was started
	began time.Duration // of a snapshot
	try   int           // of a pull, how often its image was tried
	takes time.Duration
	do    func() lifecycle.Fact // nil: what the effect asks for
}

// deadlines are those of the bundled worker.
var deadlines = cri.DefaultTimeouts()

// usualTime is how long calls of the bundled runtime take.
func usualTime(e lifecycle.Effect) time.Duration {
	return scenario.UsualCalls[reflect.TypeOf(e).Name()]
}

func (w *world) call(e lifecycle.Effect) {
	c := &call{effect: e}
	w.calls.underWay = append(w.calls.underWay, c)
	w.life.Calls++
	if ofRuntime(e) && w.now < w.runtime.downUntil {
		w.after(time.Millisecond, func() {
			w.answer(c, failed(e, lifecycle.Unavailable, "connection to the container runtime refused"))
		})
		return
	}
	takes := timeOf(w, e)
	f := w.calls.change(w.now, e)
	if f == nil {
		w.perform(c, slowed(w, e, takes))
		return
	}
	takes = slowed(w, e, f.Takes.Draw(w.dice, takes))
	switch {
	case f.Hang:
		hangs(w, c)
	case f.Fail != "":
		w.after(takes, func() { w.answer(c, refused(e, f.Fail)) })
	default:
		w.perform(c, takes)
	}
}

// timeOf is how long a call takes if nothing delays it.
func timeOf(w *world, e lifecycle.Effect) time.Duration {
	switch e := e.(type) {
	case lifecycle.PullImage:
		says, _ := w.scenario.Image(e.Image)
		return says.Pull.Draw(w.dice, scenario.UsualPull)
	case lifecycle.Probe:
		return probeTime(w, e)
	case lifecycle.RunHook:
		return hookTime(w, e)
	case lifecycle.StartContainer:
		if c := w.runtime.container(e.ContainerID); c != nil {
			return c.run.Start.Draw(w.dice, usualTime(e))
		}
	}
	return usualTime(e)
}

// hangs is a call that does nothing, and is given up. Attempts of probes and hooks have
// timeouts of their own.
func hangs(w *world, c *call) {
	switch e := c.effect.(type) {
	case lifecycle.Probe:
		attempt(w, c, e, forever)
	case lifecycle.RunHook:
		runHook(w, c, e, forever)
	default:
		unanswered(w, c)
	}
}

// unanswered answers a call at its deadline.
func unanswered(w *world, c *call) {
	w.after(deadlines.Of(c.effect), func() { w.answer(c, failed(c.effect, lifecycle.Uncertain, "context deadline exceeded")) })
}

// refused is the answer to a call that the scenario has fail.
func refused(e lifecycle.Effect, message string) lifecycle.Fact {
	switch e := e.(type) {
	case lifecycle.Probe: // the attempt could not be made
		return lifecycle.Probed{Result: lifecycle.Result{ID: e.ID}, Outcome: lifecycle.ProbeError, Output: message}
	case lifecycle.PullImage:
		return lifecycle.AnswerTo(e, &lifecycle.Failure{Reason: "ErrImagePull", Message: message})
	}
	return failed(e, lifecycle.Failed, message)
}

func failed(e lifecycle.Effect, class lifecycle.FailureClass, message string) lifecycle.Fact {
	f := &lifecycle.Failure{Class: class, Message: message}
	if _, is := e.(lifecycle.CreateContainer); is {
		f.Reason = "CreateContainerError"
	}
	return lifecycle.AnswerTo(e, f)
}

// answer ends a call, once.
func (w *world) answer(c *call, fact lifecycle.Fact) {
	if c.over {
		return
	}
	c.over = true
	i := slices.Index(w.calls.underWay, c)
	if i < 0 {
		return // its agent has crashed
	}
	w.calls.underWay = slices.Delete(w.calls.underWay, i, i+1)
	w.feed(fact)
}

// cancel gives a call up if that is possible; the others are awaited.
func (w *world) cancel(id lifecycle.EffectID) {
	for _, c := range w.calls.underWay {
		if c.effect.EffectID() != id {
			continue
		}
		switch c.effect.(type) {
		case lifecycle.PullImage, lifecycle.MountVolumes, lifecycle.RunHook, lifecycle.Probe:
			c.undone = true
			w.after(0, func() { w.answer(c, failed(c.effect, lifecycle.Cancelled, "context canceled")) })
		default:
		}
	}
}

// breakOff leaves the calls of the runtime that are under way without an answer.
func (w *world) breakOff() {
	for _, c := range w.calls.underWay {
		if ofRuntime(c.effect) {
			w.after(0, func() { w.answer(c, failed(c.effect, lifecycle.Uncertain, "connection to the container runtime lost")) })
		}
	}
}

// ofRuntime says whether a call is one of the container runtime.
func ofRuntime(e lifecycle.Effect) bool {
	switch e.(type) {
	case lifecycle.CreateSandbox, lifecycle.StopSandbox, lifecycle.RemoveSandbox, lifecycle.InspectImage, lifecycle.PullImage, lifecycle.CreateContainer,
		lifecycle.StartContainer, lifecycle.StopContainer, lifecycle.RemoveContainer, lifecycle.Observe:
		return true
	}
	return false
}

// change is what the scenario changes of a call; nil: nothing.
func (c *calls) change(now time.Duration, e lifecycle.Effect) *scenario.Call {
	if len(c.changes) == 0 {
		return nil
	}
	return c.changes.Of(reflect.TypeOf(e).Name(), containerOf(e), now)
}

// containerOf is the container that a call is about; empty: the pod.
func containerOf(e lifecycle.Effect) string {
	switch e := e.(type) {
	case lifecycle.InspectImage:
		return e.Container
	case lifecycle.PullImage:
		return e.Container
	case lifecycle.CreateContainer:
		return e.Container
	case lifecycle.StartContainer:
		return e.Container
	case lifecycle.StopContainer:
		return e.Container
	case lifecycle.RemoveContainer:
		return e.Container
	case lifecycle.Probe:
		return e.Container
	case lifecycle.RunHook:
		return e.Container
	}
	return ""
}
