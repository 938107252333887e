package sim

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

const (
	usualKill   = 5 * time.Millisecond // from SIGKILL to the exit
	stopAnswers = 2 * time.Millisecond // from the exit to the answer of StopContainer
)

// lives puts in what the instance does by itself.
func lives(w *world, c *container) {
	c.ready = c.run.Ready.Draw(w.dice, 0)
	if p := c.run.Probes; p != nil {
		for kind, list := range [3][]scenario.Answer{lifecycle.StartupProbe: p.Startup, lifecycle.LivenessProbe: p.Liveness, lifecycle.ReadinessProbe: p.Readiness} {
			c.drawn.answers[kind] = scenario.DrawAnswers(w.dice, list)
		}
	}
	for i := range c.run.Usage {
		u := &c.run.Usage[i]
		c.drawn.uses = append(c.drawn.uses, level{u.From.Draw(w.dice, 0), u})
	}
	for _, o := range c.run.Output {
		w.after(o.At.Draw(w.dice, 0), func() {
			if c.State == lifecycle.StateRunning {
				says(w, c, cmp.Or(o.Stream, "stdout"), o.Text)
			}
		})
	}
	if run, ends := runTime(w, c); ends {
		w.after(run, func() {
			code, reason := c.run.End()
			exits(w, c, lifecycle.ContainerExited{ExitCode: code, Reason: reason, Message: c.run.Message})
		})
	}
}

// says passes a line on that a container writes.
func says(w *world, c *container, stream, text string) {
	if w.sink != nil {
		w.sink.Output(w.wall(), c.Name, stream, text)
	}
	if w.outside.output != nil {
		w.outside.output(c.Name, int(c.Attempt), stream, text)
	}
}

// runTime is how long an instance's process runs if nobody ends it; false: for ever.
func runTime(w *world, c *container) (run time.Duration, ends bool) {
	ends = c.run.Ends()
	switch {
	case c.run.Run.Forever():
		return 0, false
	case c.run.Run != nil:
		return c.run.Run.Draw(w.dice, 0), true
	case ends:
		return scenario.UsualRun, true
	case isInit(w, c.Name):
		return scenario.UsualInit, c.spec.RestartPolicy == nil || *c.spec.RestartPolicy != v1.ContainerRestartPolicyAlways
	}
	if slices.Contains(w.scenario.AddedNames(), c.Name) {
		return 0, false // somebody looks around
	}
	policy := string(w.pod.Spec.RestartPolicy)
	if c.spec.RestartPolicy != nil {
		policy = string(*c.spec.RestartPolicy)
	}
	return scenario.UsualRun, policy != string(v1.RestartPolicyAlways)
}

func isInit(w *world, name string) bool {
	return slices.ContainsFunc(w.pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
}

// exits ends an instance's process, if it still runs.
func exits(w *world, c *container, as lifecycle.ContainerExited) {
	w.runtime.End(c.PretendedContainer, as, w.wall())
}

// exited is what follows from the end of an instance's process.
func exited(w *world, c *container) {
	for _, stop := range c.waiting {
		w.after(stopAnswers, func() { w.answer(stop, lifecycle.AnswerTo(stop.effect, nil)) })
	}
	c.waiting = nil
	for _, other := range w.calls.underWay {
		if hook, is := other.effect.(lifecycle.RunHook); is && hook.ContainerID == c.ID {
			other.undone = true
			w.after(0, func() { w.answer(other, failed(hook, lifecycle.Failed, "the container has exited")) })
		}
	}
}

// stopContainer sends the stop signal, and kills when the timeout is over. It is answered
// after the exit.
func stopContainer(w *world, call *call, e lifecycle.StopContainer, takes time.Duration) {
	c := w.runtime.container(e.ContainerID)
	switch {
	case c == nil:
		w.after(takes, func() { w.answer(call, failed(e, lifecycle.NotFound, "container not found")) })
		return
	case c.State != lifecycle.StateRunning:
		w.after(takes+stopAnswers, func() { w.answer(call, lifecycle.AnswerTo(e, nil)) })
		return
	}
	c.waiting = append(c.waiting, call)
	of, timeout := w.runtime.times, time.Duration(e.TimeoutSeconds)*time.Second
	kill := func() {
		if of == w.runtime.times {
			w.runtime.Kill(c.PretendedContainer, w.wall())
		}
	}
	if timeout == 0 {
		w.after(takes+usualKill, kill)
		return
	}
	w.after(takes, func() { sendSignal(w, c, of) })
	w.after(takes+timeout, kill)
}

// sendSignal is the stop signal, of which only the first counts.
func sendSignal(w *world, c *container, of int) {
	if of != w.runtime.times || c.State != lifecycle.StateRunning || c.ending {
		return
	}
	c.ending = true
	code, after := int32(143), scenario.UsualStop
	if stop := c.run.Stop; stop != nil {
		if stop.Ignore || stop.After.Forever() {
			return
		}
		after = stop.After.Draw(w.dice, scenario.UsualStop)
		code = ptr.Deref(stop.Exit, code)
	}
	w.after(after, func() { exits(w, c, lifecycle.ContainerExited{ExitCode: code, Reason: scenario.ReasonOf(code)}) })
}

// probeOf is the spec of a probe.
func (c *container) probeOf(kind lifecycle.ProbeKind) *v1.Probe {
	return [...]*v1.Probe{lifecycle.StartupProbe: c.spec.StartupProbe, lifecycle.LivenessProbe: c.spec.LivenessProbe, lifecycle.ReadinessProbe: c.spec.ReadinessProbe}[kind]
}

// notReady is what a readiness probe gets too early.
var notReady = &scenario.Answer{Answer: "failure"}

// answerTo is what a probe gets now; nil: it succeeds.
func answerTo(w *world, e lifecycle.Probe) *scenario.Answer {
	c := w.runtime.container(e.ContainerID)
	if c == nil {
		return nil
	}
	since := w.now - c.began
	if e.Kind == lifecycle.ReadinessProbe && since < c.ready {
		return notReady
	}
	return c.drawn.answers[e.Kind].At(since)
}
