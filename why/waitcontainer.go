package why

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/lifecycle"
)

// containerWait is what one container waits for, or several for the same image.
func (t *explainer) containerWait(s *Sentence) string {
	w := s.Wait
	switch w.For {
	case "": // others wait for it
		return t.runsFirst(w)
	case lifecycle.WaitImage, lifecycle.WaitImagePull, lifecycle.WaitImageRetry:
		return t.imageWait(w, append([]string{w.Subject}, s.Others...))
	case lifecycle.WaitBackOff:
		return t.Say("%s waits for its next restart: back-off, next try %s", w.Subject, t.when(w.Until)) + t.inBrackets(w.In(t.Say)) + t.behindText(w.Subject)
	case lifecycle.WaitRetry:
		return t.working(work{t.Say("%s is to be started", w.Subject), t.Say("%s can't be started", w.Subject)}, w)
	case lifecycle.WaitRemoval:
		return t.working(work{t.Say("Old instances of %s are being removed", w.Subject), t.Say("Old instances of %s can't be removed", w.Subject)}, w)
	case lifecycle.WaitCreate:
		return t.working(work{t.Say("The runtime is creating %s", w.Subject), ""}, w)
	case lifecycle.WaitStart:
		return t.working(work{t.Say("The runtime is starting %s", w.Subject), ""}, w)
	case lifecycle.WaitSnapshot:
		return t.Say("What has become of %s is not known: the runtime is being asked", w.Subject) + t.ifSome(", after: %s", t.behind(w))
	case lifecycle.WaitGroup:
		return t.Say("%s is created and waits for its group", w.Subject) + t.soFar(w.Since) + t.ifSome(": %s", t.groupWait(w))
	case lifecycle.WaitHook:
		return t.Say("%s has not started yet: its %s hook has been running", w.Subject, w.On) + t.lasting(w.Since) + t.ifSome(": %s", w.Held)
	case lifecycle.WaitProbe:
		return t.probeWait(w)
	case lifecycle.WaitPreStop, lifecycle.WaitStopTurn, lifecycle.WaitGrace, lifecycle.WaitStopRetry:
		return t.stopWait(w)
	default:
	}
	return t.otherWait(w.Subject, w)
}

// groupWait is what a container waits for at the barrier of its group, and how its node hears of the other members.
func (t *explainer) groupWait(w *lifecycle.Wait) string {
	text, g := t.behind(w), w.Group
	if g == nil {
		return text
	}
	var names []string
	for _, b := range g.Behind {
		standing := t.Word("no attempt yet")
		if b.Attempt != nil {
			standing = t.Say("attempt %d", *b.Attempt)
		}
		if b.Leaving {
			standing = t.Say("%s, being deleted", standing)
		}
		if b.ByPod {
			standing = t.Say("%s, as its pod shows", standing)
		}
		names = append(names, b.Name+t.inBrackets(standing))
	}
	if len(names) > 0 {
		if g.More > 0 {
			names = append(names, t.Say("%d others", g.More))
		}
		text = t.Say("%s; not there yet: %s", text, t.list(names))
	}
	switch {
	case g.Way.Leader != "" && g.ByPods > 0:
		return t.Say("%s; node %s leads it, to which all nodes report but for those of %s", text, g.Way.Leader, t.Count(int(g.ByPods), "member"))
	case g.Way.Leader != "":
		return t.Say("%s; node %s leads it", text, g.Way.Leader)
	case g.Way.Unreached != "":
		return t.Say("%s; it goes by what the pods of its members show, as no node that leads it is reached: %s", text, g.Way.Unreached)
	}
	return t.Say("%s; it goes by what the pods of its members show", text)
}

// runsFirst is about a container that others come after and that waits for nothing.
func (t *explainer) runsFirst(w *lifecycle.Wait) string {
	what := t.Say(cmp.Or(map[string]string{"init": "The init container %s", "sidecar": "The sidecar %s"}[t.Pod.KindOf(w.Subject)], "%s"), w.Subject)
	state := t.stateOf(w.Subject)
	switch {
	case state != nil && state.State == "running" && t.Pod.KindOf(w.Subject) == "init":
		return t.Say("%s has been running%s and has not completed", what, t.lasting(state.Since))
	case state != nil && state.State == "running":
		return t.Say("%s has been running%s", what, t.lasting(state.Since))
	}
	return t.Say("%s comes first", what)
}

// imageWait is about an image that containers need.
func (t *explainer) imageWait(w *lifecycle.Wait, containers []string) string {
	what := t.Say("The image %s of %s", w.On, t.list(containers))
	switch w.For {
	case lifecycle.WaitImage:
		return t.Say("%s is being looked for on this machine", what)
	case lifecycle.WaitImagePull:
		doing := t.Say("%s is being %s", what, t.pulledSoFar(w.On))
		return t.working(work{doing: doing}, &lifecycle.Wait{Since: w.Since, Because: w.Because})
	default:
	}
	return t.Say("%s can't be had: %s", what, t.behind(w)+t.ifSome("; %s", t.imageHint(w.Subject))) + t.nextTry(w)
}

// imageHint is what the last failure to get a container's image said beside it: that it is here, or by which name.
func (t *explainer) imageHint(container string) string {
	for _, e := range slices.Backward(t.Entries) {
		if e.Container == container && e.Says().Kind == lifecycle.KindImageFailed {
			return t.because(e)
		}
	}
	return ""
}

// pulledSoFar is how far the pull of an image is, and which of its layers is the slowest.
func (t *explainer) pulledSoFar(image string) string {
	for _, p := range t.Now.Pulls {
		layer := ""
		if p.Layer != nil && p.Layers > 1 {
			layer = t.Say("layer %d of %d (%s)", p.Layer.Number, p.Layers, p.Layer.Digest)
		}
		switch {
		case p.Image != image || p.TotalBytes == 0:
		case p.DoneBytes >= p.TotalBytes:
			if layer != "" {
				return t.Say("pulled: its %s are here and %s is being unpacked", t.bytes(p.TotalBytes), layer)
			}
			return t.Say("pulled: its %s are here and are being unpacked", t.bytes(p.TotalBytes))
		default:
			text := t.Say("pulled: %s of %s are here", t.bytes(p.DoneBytes), t.bytes(p.TotalBytes))
			if p.BytesPerSecond > 0 {
				text += t.Say(", %s a second", t.bytes(p.BytesPerSecond))
			} else {
				text += t.Word(" and no more is coming")
			}
			if layer != "" {
				text += t.Say(", and %s is the slowest with %s of %s", layer, t.bytes(p.Layer.DoneBytes), t.bytes(p.Layer.TotalBytes))
			}
			return text
		}
	}
	return t.Word("pulled")
}

// probeWait is about a probe that has not succeeded, or not any more.
func (t *explainer) probeWait(w *lifecycle.Wait) string {
	lacks := "%s is not ready: its %s %s"
	var text string
	if w.On == "startup" {
		lacks = "%s has not started up: its %s %s"
	}
	switch p := w.Probe; {
	case w.Because == "":
		text = t.Word("has not succeeded yet")
	case p.Run == 0:
		text = t.Word("could not be made") + t.inBrackets(t.behind(w))
	case p.Failing:
		text = t.Say("failed %d of %d", p.Run, p.Of) + t.inBrackets(bare(p.Said))
	default:
		text = t.Say("succeeded %d of %d", p.Run, p.Of) + t.inBrackets(bare(p.Said))
	}
	text = t.Say(lacks, w.Subject, lifecycle.ProbeName(t.Say, w.On), text)
	if w.Until.IsZero() {
		return text + t.Word("; an attempt is under way")
	}
	return text + t.nextTry(w)
}

// stopWait is about a container that is being stopped.
func (t *explainer) stopWait(w *lifecycle.Wait) string {
	overdue := !w.Until.IsZero() && w.Until.Before(t.now)
	because := t.inBrackets(t.behind(w))
	switch w.For {
	case lifecycle.WaitPreStop:
		return t.Say("%s is being stopped%s: its preStop hook has been running", w.Subject, because) + t.lasting(w.Since) + t.ifSome(" and may until %s", t.whenOf(w)) + t.ifSome(": %s", w.Held)
	case lifecycle.WaitStopTurn:
		if w.On == "" {
			return t.Say("%s is to be stopped%s once what is being set up for the pod has ended", w.Subject, because)
		}
		return t.Say("%s is stopped after %s", w.Subject, t.list(strings.Split(w.On, ", "))) + t.ifSome(", at the latest %s", t.whenOf(w))
	case lifecycle.WaitStopRetry:
		return t.working(work{t.Say("%s is to be stopped", w.Subject), t.Say("%s can't be stopped", w.Subject)}, w)
	default:
	}
	if overdue {
		return t.Say("%s was to be killed at %s%s: the runtime has not answered", w.Subject, t.when(w.Until), because)
	}
	return t.Say("%s is being stopped%s: it has had its stop signal%s and is killed at %s", w.Subject, because, t.lasting(w.Since), t.when(w.Until))
}

func (t *explainer) whenOf(w *lifecycle.Wait) string {
	if w.Until.IsZero() {
		return ""
	}
	return t.when(w.Until)
}

// states are how containers are of which only the object tells: what keeps those that don't run.
func (t *explainer) states() (list []Sentence) {
	for _, c := range t.Now.Containers {
		var text string
		switch {
		case c.State == "waiting" && c.Reason != "":
			text = t.Say("%s is waiting: %s", c.Name, c.Reason) + t.ifSome(": %s", bare(c.Message))
		case c.State == "terminated" && c.Exit != nil && c.Exit.Code != 0:
			text = t.Say("%s is terminated: exit %d %s", c.Name, c.Exit.Code, c.Exit.Reason) + t.startText(c.Exit)
		case c.State == "running" && !c.Ready && t.Pod.KindOf(c.Name) == "container":
			text = t.Say("%s is running and not ready", c.Name)
		default:
			continue
		}
		if c.Restarts > 0 {
			text += t.Say(", restarted %d times", c.Restarts)
		}
		list = append(list, Sentence{Kind: KindState, Subject: c.Name, At: c.Since, Text: text + t.Word("; its node's journal tells no more.")})
	}
	return list
}
