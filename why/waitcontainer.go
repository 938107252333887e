package why

import (
	"fmt"
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
		return w.Subject + " waits for its next restart: back-off, next try " + t.when(w.Until) + inBrackets(w.Because) + t.behindText(w.Subject)
	case lifecycle.WaitRetry:
		return t.working(work{w.Subject + " is to be started", w.Subject + " can't be started"}, w)
	case lifecycle.WaitRemoval:
		return t.working(work{"Old instances of " + w.Subject + " are being removed", "Old instances of " + w.Subject + " can't be removed"}, w)
	case lifecycle.WaitCreate:
		return t.working(work{"The runtime is creating " + w.Subject, ""}, w)
	case lifecycle.WaitStart:
		return t.working(work{"The runtime is starting " + w.Subject, ""}, w)
	case lifecycle.WaitSnapshot:
		return "What has become of " + w.Subject + " is not known: the runtime is being asked" + ifSome(", after: ", bare(w.Because))
	case lifecycle.WaitGroup:
		return w.Subject + " is created and waits for its group" + t.soFar(w.Since) + ifSome(": ", bare(w.Because))
	case lifecycle.WaitHook:
		return w.Subject + " has not started yet: its " + w.On + " hook has been running" + t.lasting(w.Since) + ifSome(": ", w.Held)
	case lifecycle.WaitProbe:
		return t.probeWait(w)
	case lifecycle.WaitPreStop, lifecycle.WaitStopTurn, lifecycle.WaitGrace, lifecycle.WaitStopRetry:
		return t.stopWait(w)
	default:
	}
	return w.Subject + " waits for " + string(w.For) + ifSome(" ", w.On) + ifSome(": ", bare(w.Because)) + t.nextTry(w)
}

// runsFirst is about a container that others come after and that waits for nothing.
func (t *explainer) runsFirst(w *lifecycle.Wait) string {
	what := map[string]string{"init": "The init container ", "sidecar": "The sidecar "}[t.kindOf(w.Subject)] + w.Subject
	state := t.stateOf(w.Subject)
	switch {
	case state != nil && state.State == "running" && t.kindOf(w.Subject) == "init":
		return what + " has been running" + t.lasting(state.Since) + " and has not completed"
	case state != nil && state.State == "running":
		return what + " has been running" + t.lasting(state.Since)
	}
	return what + " comes first"
}

// imageWait is about an image that containers need.
func (t *explainer) imageWait(w *lifecycle.Wait, containers []string) string {
	what := "The image " + w.On + " of " + list(containers)
	switch w.For {
	case lifecycle.WaitImage:
		return what + " is being looked for on this machine"
	case lifecycle.WaitImagePull:
		doing := what + " is being " + t.pulledSoFar(w.On)
		return t.working(work{doing: doing}, &lifecycle.Wait{Since: w.Since, Because: w.Because})
	default:
	}
	return what + " can't be had: " + bare(w.Because) + ifSome("; ", t.imageHint(w.Subject)) + t.nextTry(w)
}

// imageHint is what the last failure to get a container's image said beside it: that it is here, or by which name.
func (t *explainer) imageHint(container string) string {
	for _, e := range slices.Backward(t.Entries) {
		if e.Container == container && e.Says().Kind == lifecycle.KindImageFailed {
			return bare(e.Because)
		}
	}
	return ""
}

// pulledSoFar is how far the pull of an image is, and which of its layers is the slowest.
func (t *explainer) pulledSoFar(image string) string {
	for _, p := range t.Now.Pulls {
		layer := ""
		if p.Layer != nil && p.Layers > 1 {
			layer = fmt.Sprintf("layer %d of %d (%s)", p.Layer.Number, p.Layers, p.Layer.Digest)
		}
		switch {
		case p.Image != image || p.TotalBytes == 0:
		case p.DoneBytes >= p.TotalBytes:
			unpacked := "are"
			if layer != "" {
				unpacked = layer + " is"
			}
			return "pulled: its " + bytes(p.TotalBytes) + " are here and " + unpacked + " being unpacked"
		default:
			text := "pulled: " + bytes(p.DoneBytes) + " of " + bytes(p.TotalBytes) + " are here"
			if p.BytesPerSecond > 0 {
				text += ", " + bytes(p.BytesPerSecond) + " a second"
			} else {
				text += " and no more is coming"
			}
			if layer != "" {
				text += ", and " + layer + " is the slowest with " + bytes(p.Layer.DoneBytes) + " of " + bytes(p.Layer.TotalBytes)
			}
			return text
		}
	}
	return "pulled"
}

// probeWait is about a probe that has not succeeded, or not any more.
func (t *explainer) probeWait(w *lifecycle.Wait) string {
	lacks := " is not ready: its "
	if w.On == "startup" {
		lacks = " has not started up: its "
	}
	text := w.Subject + lacks + w.On + " probe "
	switch p := w.Probe; {
	case w.Because == "":
		text += "has not succeeded yet"
	case p.Run == 0:
		text += "could not be made" + inBrackets(bare(w.Because))
	case p.Failing:
		text += fmt.Sprintf("failed %d of %d", p.Run, p.Of) + inBrackets(bare(p.Said))
	default:
		text += fmt.Sprintf("succeeded %d of %d", p.Run, p.Of) + inBrackets(bare(p.Said))
	}
	if w.Until.IsZero() {
		return text + "; an attempt is under way"
	}
	return text + t.nextTry(w)
}

// stopWait is about a container that is being stopped.
func (t *explainer) stopWait(w *lifecycle.Wait) string {
	overdue := !w.Until.IsZero() && w.Until.Before(t.now)
	because := inBrackets(bare(w.Because))
	switch w.For {
	case lifecycle.WaitPreStop:
		return w.Subject + " is being stopped" + because + ": its preStop hook has been running" + t.lasting(w.Since) + ifSome(" and may until ", t.whenOf(w)) + ifSome(": ", w.Held)
	case lifecycle.WaitStopTurn:
		if w.On == "" {
			return w.Subject + " is to be stopped" + because + " once what is being set up for the pod has ended"
		}
		return w.Subject + " is stopped after " + list(strings.Split(w.On, ", ")) + ifSome(", at the latest ", t.whenOf(w))
	case lifecycle.WaitStopRetry:
		return t.working(work{w.Subject + " is to be stopped", w.Subject + " can't be stopped"}, w)
	default:
	}
	if overdue {
		return w.Subject + " was to be killed at " + t.when(w.Until) + because + ": the runtime has not answered"
	}
	return w.Subject + " is being stopped" + because + ": it has had its stop signal" + t.lasting(w.Since) + " and is killed at " + t.when(w.Until)
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
		text := c.Name + " is " + c.State
		switch {
		case c.State == "waiting" && c.Reason != "":
			text += ": " + c.Reason + ifSome(": ", bare(c.Message))
		case c.State == "terminated" && c.Exit != nil && c.Exit.Code != 0:
			text += fmt.Sprintf(": exit %d %s", c.Exit.Code, c.Exit.Reason) + startText(c.Exit)
		case c.State == "running" && !c.Ready && t.kindOf(c.Name) == "container":
			text += " and not ready"
		default:
			continue
		}
		if c.Restarts > 0 {
			text += fmt.Sprintf(", restarted %d times", c.Restarts)
		}
		list = append(list, Sentence{Kind: KindState, Subject: c.Name, At: c.Since, Text: text + "; its node's journal tells no more."})
	}
	return list
}
