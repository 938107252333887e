package sim

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// images are those of the node.
type images struct {
	here  map[string]bool
	tried map[string]int // pulls, by image
}

// perform has the effect of a call happen when it has taken its time, and answers it. The
// runtime goes on with a call whose caller has given up or crashed, unless it ends itself.
func (w *world) perform(c *call, takes time.Duration) {
	switch e := c.effect.(type) {
	case lifecycle.StopContainer:
		stopContainer(w, c, e, takes)
		return
	case lifecycle.Probe:
		attempt(w, c, e, takes)
		return
	case lifecycle.RunHook:
		runHook(w, c, e, takes)
		return
	case lifecycle.MountVolumes:
		if lifecycle.SandboxNeedsVolumeGroups(w.pod) {
			w.learns(0, lifecycle.VolumesFound(e))
		}
	}
	if takes > deadlines.Of(c.effect) {
		unanswered(w, c)
	}
	switch e := c.effect.(type) {
	case lifecycle.PullImage:
		if w.images.tried == nil {
			w.images.tried = map[string]int{}
		}
		w.images.tried[e.Image]++
		c.try = w.images.tried[e.Image]
	case lifecycle.Observe:
		c.began = w.now
	}
	w.done(c, takes, nil)
}

// done answers a call after some time with what it then does; nil: what its effect asks for.
func (w *world) done(c *call, takes time.Duration, do func() lifecycle.Fact) {
	c.of, c.takes, c.do = w.runtime.times, takes, do
	w.queue.put(item{at: w.now + takes, call: c})
}

// tookItsTime ends a call, unless it was given up, or its runtime has crashed.
func tookItsTime(w *world, c *call) {
	switch {
	case c.undone || c.of != w.runtime.times && ofRuntime(c.effect):
	case c.do != nil:
		w.answer(c, c.do())
	default:
		w.answer(c, result(w, c))
	}
}

// result does what a call's effect asks for.
func result(w *world, c *call) lifecycle.Fact {
	switch e := c.effect.(type) {
	case lifecycle.InspectImage:
		return inspectImage(w, e)
	case lifecycle.PullImage:
		return pullImage(w, e, c.try, c.takes)
	case lifecycle.Observe:
		return w.runtime.Snapshot(lifecycle.Result{ID: e.ID}, w.began.Add(c.began+w.drift)) // by the wall clock as it is set now
	}
	return change(w, c.effect)
}

func inspectImage(w *world, e lifecycle.InspectImage) lifecycle.Fact {
	i, _ := w.scenario.Image(e.Image)
	answer := lifecycle.ImageInspected{Result: lifecycle.Result{ID: e.ID}}
	if i.IsPresent(e.Image) || w.images.here[e.Image] {
		answer.Image = infoOf(e.Image, i)
	}
	return answer
}

func infoOf(name string, i scenario.Image) *lifecycle.ImageInfo {
	return &lifecycle.ImageInfo{ID: "sha256:" + name, Ref: name, SizeBytes: uint64(max(0, ptr.Deref(i.Bytes, scenario.UsualBytes))), UID: new(int64(0))}
}

// pullImage ends the nth try to pull an image.
func pullImage(w *world, e lifecycle.PullImage, try int, took time.Duration) lifecycle.Fact {
	i, _ := w.scenario.Image(e.Image)
	if message := i.PullError(e.Image, try); message != "" {
		return refused(e, message)
	}
	if w.images.here == nil {
		w.images.here = map[string]bool{}
	}
	w.images.here[e.Image] = true
	return lifecycle.ImagePulled{Result: lifecycle.Result{ID: e.ID}, Image: infoOf(e.Image, i), Took: took}
}

func probeTime(w *world, e lifecycle.Probe) time.Duration {
	if says := answerTo(w, e); says != nil {
		return says.Takes.Draw(w.dice, scenario.UsualProbe)
	}
	return scenario.UsualProbe
}

// attempt makes one attempt of a probe. One that takes longer than its timeout has failed.
func attempt(w *world, call *call, e lifecycle.Probe, takes time.Duration) {
	answer := lifecycle.Probed{Result: lifecycle.Result{ID: e.ID}}
	c := w.runtime.container(e.ContainerID)
	if c == nil || c.State != lifecycle.StateRunning {
		answer.Outcome, answer.Output = lifecycle.ProbeError, "container is not running"
		w.done(call, scenario.UsualProbe, func() lifecycle.Fact { return answer })
		return
	}
	spec := c.probeOf(e.Kind)
	if says := answerTo(w, e); says != nil {
		answer.Outcome, answer.Output = outcomes[says.Answer], says.Output
		if answer.Output == "" && says.Answer != "success" {
			answer.Output = usualOutput(spec)
		}
	}
	if timeout := cri.ProbeTimeout(spec); takes > timeout {
		takes, answer.Outcome, answer.Output = timeout, lifecycle.ProbeFailure, fmt.Sprintf("no answer within %v", timeout)
	}
	w.done(call, takes, func() lifecycle.Fact { return answer })
}

var outcomes = map[string]lifecycle.ProbeOutcome{
	"success": lifecycle.ProbeSuccess, "failure": lifecycle.ProbeFailure, "error": lifecycle.ProbeError,
}

// usualOutput is what a probe that fails says.
func usualOutput(p *v1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return "HTTP probe failed with statuscode: 503"
	case p.TCPSocket != nil:
		return "connection refused"
	case p.GRPC != nil:
		return "service unhealthy (responded with \"NOT_SERVING\")"
	}
	return ""
}

const usualHook = 10 * time.Millisecond

// hookTime is how long a hook takes: a sleep says that itself.
func hookTime(w *world, e lifecycle.RunHook) time.Duration {
	takes := usualHook
	if spec := specOf(w, e.Container).Lifecycle; spec != nil {
		handler := spec.PostStart
		if e.Hook == lifecycle.PreStop {
			handler = spec.PreStop
		}
		if handler != nil && handler.Sleep != nil {
			takes = time.Duration(handler.Sleep.Seconds) * time.Second
		}
	}
	if says := hookOf(w, e); says != nil {
		return says.Takes.Draw(w.dice, takes)
	}
	return takes
}

// hookOf is what the scenario says of a run of a hook; nil: nothing.
func hookOf(w *world, e lifecycle.RunHook) *scenario.Hook {
	c := w.runtime.container(e.ContainerID)
	switch {
	case c == nil || c.run.Hooks == nil:
		return nil
	case e.Hook == lifecycle.PreStop:
		return c.run.Hooks.PreStop
	}
	return c.run.Hooks.PostStart
}

// runHook runs one to its end, but is not awaited beyond its deadline.
func runHook(w *world, c *call, e lifecycle.RunHook, takes time.Duration) {
	if left := e.Deadline.Sub(w.wall()); !e.Deadline.IsZero() && takes > left {
		w.done(c, max(0, left), func() lifecycle.Fact { return failed(e, lifecycle.Uncertain, "context deadline exceeded") })
		return
	}
	if takes == forever {
		return // it ends with its container, or is cancelled
	}
	w.done(c, takes, func() lifecycle.Fact {
		if says := hookOf(w, e); says != nil && says.Fail != "" {
			return failed(e, lifecycle.Failed, says.Fail)
		}
		return lifecycle.AnswerTo(e, nil)
	})
}
