package sim

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// images are those of the node.
type images struct {
	here  map[string]bool
	tried map[string]int // pulls, by image
}

const (
	usualPull  = time.Second
	usualBytes = 10 << 20
	// carried begins the names of the images that lifepod has with it.
	carried = "lifepod.dev/"
)

// perform has the effect of a call happen when it has taken its time, and answers it. The
// runtime goes on with a call whose caller has given up or crashed, unless it ends itself.
func (w *world) perform(c *call, takes time.Duration) {
	of, ofRuntime := w.runtime.times, ofRuntime(c.effect)
	done := func(d time.Duration, do func() lifecycle.Fact) {
		w.after(d, func() {
			if !c.undone && (!ofRuntime || of == w.runtime.times) {
				w.answer(c, do())
			}
		})
	}
	switch e := c.effect.(type) {
	case lifecycle.MountVolumes:
		if lifecycle.SandboxNeedsVolumeGroups(w.pod) {
			w.after(0, w.answering(lifecycle.VolumesFound(e)))
		}
		done(takes, func() lifecycle.Fact { return lifecycle.AnswerTo(e, nil) })
	case lifecycle.InspectImage:
		done(takes, func() lifecycle.Fact { return inspectImage(w, e) })
	case lifecycle.PullImage:
		pullImage(w, e, done)
	case lifecycle.StopContainer:
		stopContainer(w, c, e, takes)
	case lifecycle.Observe:
		began := w.wall()
		done(takes, func() lifecycle.Fact { return w.runtime.snapshot(e, began) })
	case lifecycle.Probe:
		attempt(w, e, done)
	case lifecycle.RunHook:
		runHook(w, e, done)
	default:
		done(takes, func() lifecycle.Fact { return change(w, e) })
	}
}

// change does what an effect asks of the runtime; what changes nothing there works.
func change(w *world, effect lifecycle.Effect) lifecycle.Fact {
	switch e := effect.(type) {
	case lifecycle.CreateSandbox:
		return createSandbox(w, e)
	case lifecycle.StopSandbox:
		return stopSandbox(w, e)
	case lifecycle.RemoveSandbox:
		return removeSandbox(w, e)
	case lifecycle.CreateContainer:
		return createContainer(w, e)
	case lifecycle.StartContainer:
		return startContainer(w, e)
	case lifecycle.RemoveContainer:
		return removeContainer(w, e)
	}
	return lifecycle.AnswerTo(effect, nil)
}

// imageOf is what the scenario says of an image, which the machine gives its usual tag.
func imageOf(w *world, name string) scenario.Image {
	if i, says := w.scenario.Images[name]; says {
		return i
	}
	return w.scenario.Images[strings.TrimSuffix(name, ":latest")]
}

func inspectImage(w *world, e lifecycle.InspectImage) lifecycle.Fact {
	i := imageOf(w, e.Image)
	present := strings.HasPrefix(e.Image, carried)
	if i.Present != nil {
		present = *i.Present
	}
	answer := lifecycle.ImageInspected{Result: lifecycle.Result{ID: e.ID}}
	if present || w.images.here[e.Image] {
		answer.Image = infoOf(e.Image, i)
	}
	return answer
}

func infoOf(name string, i scenario.Image) *lifecycle.ImageInfo {
	bytes := uint64(usualBytes)
	if i.Bytes != nil {
		bytes = uint64(max(0, *i.Bytes))
	}
	root := int64(0)
	return &lifecycle.ImageInfo{ID: "sha256:" + name, Ref: name, SizeBytes: bytes, UID: &root}
}

func pullImage(w *world, e lifecycle.PullImage, done func(time.Duration, func() lifecycle.Fact)) {
	i := imageOf(w, e.Image)
	w.images.tried[e.Image]++
	fails := w.images.tried[e.Image] <= i.Failures
	took := i.Pull.Draw(w.dice, usualPull)
	done(took, func() lifecycle.Fact {
		if fails {
			message := i.Error
			if message == "" {
				message = fmt.Sprintf("failed to resolve image: %s: not found", e.Image)
			}
			return lifecycle.AnswerTo(e, &lifecycle.Failure{Reason: "ErrImagePull", Message: message})
		}
		w.images.here[e.Image] = true
		return lifecycle.ImagePulled{Result: lifecycle.Result{ID: e.ID}, Image: infoOf(e.Image, i), Took: took}
	})
}

// usualProbe is how long an attempt of a probe takes.
const usualProbe = 2 * time.Millisecond

// attempt makes one attempt. One that takes longer than its timeout has failed.
func attempt(w *world, e lifecycle.Probe, done func(time.Duration, func() lifecycle.Fact)) {
	answer := lifecycle.Probed{Result: lifecycle.Result{ID: e.ID}}
	c := w.runtime.container(e.ContainerID)
	if c == nil || c.State != lifecycle.StateRunning {
		answer.Outcome, answer.Output = lifecycle.ProbeError, "container is not running"
		done(usualProbe, func() lifecycle.Fact { return answer })
		return
	}
	spec, list := c.probeOf(e.Kind)
	takes := usualProbe
	if says := c.answerAt(w.now, e.Kind, list); says != nil {
		takes = says.Takes.Draw(w.dice, usualProbe)
		answer.Outcome, answer.Output = outcomes[says.Answer], says.Output
		if answer.Output == "" && says.Answer != "success" {
			answer.Output = usualOutput(spec)
		}
	}
	if timeout := time.Duration(spec.TimeoutSeconds) * time.Second; takes > timeout {
		takes, answer.Outcome, answer.Output = timeout, lifecycle.ProbeFailure, fmt.Sprintf("no answer within %v", timeout)
	}
	done(takes, func() lifecycle.Fact { return answer })
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

// hookTime is how long a hook takes.
const usualHook = 10 * time.Millisecond

// hookTime is how long a hook takes: a sleep says that itself.
func hookTime(w *world, e lifecycle.RunHook) time.Duration {
	spec := specOf(w, e.Container).Lifecycle
	if spec == nil {
		return usualHook
	}
	handler := spec.PostStart
	if e.Hook == lifecycle.PreStop {
		handler = spec.PreStop
	}
	if handler != nil && handler.Sleep != nil {
		return time.Duration(handler.Sleep.Seconds) * time.Second
	}
	return usualHook
}

// runHook runs one to its end, but is not awaited beyond its deadline.
func runHook(w *world, e lifecycle.RunHook, done func(time.Duration, func() lifecycle.Fact)) {
	var says *scenario.Hook
	if c := w.runtime.container(e.ContainerID); c != nil && c.run.Hooks != nil {
		says = c.run.Hooks.PostStart
		if e.Hook == lifecycle.PreStop {
			says = c.run.Hooks.PreStop
		}
	}
	takes, fail := hookTime(w, e), ""
	if says != nil {
		takes, fail = says.Takes.Draw(w.dice, takes), says.Fail
	}
	if left := e.Deadline.Sub(w.wall()); !e.Deadline.IsZero() && takes > left {
		done(max(0, left), func() lifecycle.Fact { return failed(e, lifecycle.Uncertain, "context deadline exceeded") })
		return
	}
	if says != nil && says.Takes.Forever() {
		return // it ends with its container, or is cancelled
	}
	done(takes, func() lifecycle.Fact {
		if fail != "" {
			return failed(e, lifecycle.Failed, fail)
		}
		return lifecycle.AnswerTo(e, nil)
	})
}
