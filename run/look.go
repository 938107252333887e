package run

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

// look is how a container, or the pod, is shown.
type look struct {
	tone  tone
	word  string
	share float64 // of the bar; below 0: there is none
	more  string
}

// moment is what is known of a pod at a time.
type moment struct {
	*View
	at time.Time
}

func (v moment) lookOf(name string) look {
	var state journal.ContainerNow
	for _, c := range v.now.Containers {
		if c.Name == name {
			state = c
		}
	}
	for i := range v.now.Waits {
		if w := &v.now.Waits[i]; w.Subject == name {
			return v.waiting(w, &state)
		}
	}
	switch state.State {
	case "running":
		return look{good, v.language.Word("running"), -1, v.lasting(state.Since)}
	case "terminated":
		return v.ended(&state, v.pod.KindOf(name))
	}
	return look{quiet, cmp.Or(state.Reason, v.language.Word("waiting")), -1, ""}
}

func (v moment) ended(c *journal.ContainerNow, kind string) look {
	switch {
	case c.Exit == nil:
		return look{quiet, v.language.Word("ended"), -1, ""}
	case c.Exit.Code == 0 && kind == "init":
		return look{done, v.language.Word("completed"), -1, ""}
	case c.Exit.Code == 0:
		return look{done, v.language.Say("exited %d", 0), -1, ""}
	case c.Exit.Reason == "Error":
		return look{bad, v.language.Say("exited %d", c.Exit.Code), -1, ""}
	}
	return look{bad, v.language.Say("exited %d", c.Exit.Code), -1, c.Exit.Reason}
}

// waiting is how a container is that waits for something, as the machine says it.
func (v moment) waiting(w *lifecycle.Wait, state *journal.ContainerNow) look {
	switch w.For {
	case lifecycle.WaitImagePull:
		return v.pulling(w)
	case lifecycle.WaitGrace:
		return v.counting(look{tone: busy, word: v.language.Word("stopping")}, w, "is killed in %s")
	case lifecycle.WaitPreStop:
		return v.counting(look{tone: busy, word: v.language.Word("stopping")}, w, "preStop hook, ends in %s")
	case lifecycle.WaitStopTurn:
		return v.counting(look{tone: quiet, word: v.language.Say("stops after %s", cmp.Or(w.On, v.language.Word("the setup")))}, w, "at the latest in %s")
	case lifecycle.WaitProbe:
		text := lifecycle.ProbeName(v.language.Say, w.On)
		if said := w.In(v.language.Say); said != "" {
			text += " " + said
		}
		return look{busy, v.language.Word(map[string]string{"startup": "not started", "readiness": "not ready"}[w.On]), -1, text}
	case lifecycle.WaitHook:
		return look{busy, v.language.Word("running"), -1, v.language.Say("%s hook", w.On) + v.ifSome(" %s", v.lasting(w.Since))}
	case lifecycle.WaitTurn, lifecycle.WaitTarget:
		return look{quiet, v.language.Say("waits for %s", w.On), -1, ""}
	case lifecycle.WaitSetup:
		return look{quiet, v.language.Say("waits for the pod's %s", w.On), -1, ""}
	default:
	}
	if word, is := words[w.For]; is {
		word.word = v.language.Word(word.word)
		return v.counting(word, w, "next try in %s")
	}
	return v.counting(look{tone: quiet, word: cmp.Or(state.Reason, string(w.For))}, w, "in %s")
}

// words are those for what needs no more.
var words = map[lifecycle.WaitFor]look{
	lifecycle.WaitCgroup:        {tone: busy, word: "making its cgroup"},
	lifecycle.WaitVolumes:       {tone: busy, word: "mounting its volumes"},
	lifecycle.WaitClaims:        {tone: busy, word: "preparing its devices"},
	lifecycle.WaitNetwork:       {tone: bad, word: "has no network"},
	lifecycle.WaitSandbox:       {tone: busy, word: "making its sandbox"},
	lifecycle.WaitSandboxStop:   {tone: busy, word: "stopping its sandbox"},
	lifecycle.WaitUnmount:       {tone: busy, word: "unmounting its volumes"},
	lifecycle.WaitSandboxRemove: {tone: busy, word: "removing its sandbox"},
	lifecycle.WaitCgroupRemove:  {tone: busy, word: "removing its cgroup"},
	lifecycle.WaitBackOff:       {tone: bad, word: "back-off"},
	lifecycle.WaitImage:         {tone: quiet, word: "looks for its image"},
	lifecycle.WaitImageRetry:    {tone: bad, word: "has no image"},
	lifecycle.WaitRetry:         {tone: bad, word: "can't start"},
	lifecycle.WaitCreate:        {tone: busy, word: "creating"},
	lifecycle.WaitStart:         {tone: busy, word: "starting"},
	lifecycle.WaitRestartAll:    {tone: busy, word: "restarts with all"},
	lifecycle.WaitGroup:         {tone: quiet, word: "waits for its group"},
	lifecycle.WaitRemoval:       {tone: busy, word: "is being removed"},
	lifecycle.WaitStopRetry:     {tone: bad, word: "can't be stopped"},
	lifecycle.WaitSnapshot:      {tone: quiet, word: "the runtime is asked"},
	lifecycle.WaitReadinessGate: {tone: quiet, word: "waits for a readiness gate"},
	lifecycle.WaitCompletion:    {tone: quiet, word: "is complete after"},
}

// counting gives a look its countdown, if it is known when the wait ends.
func (v moment) counting(l look, w *lifecycle.Wait, format string) look {
	because := w.In(v.language.Say)
	l.share, l.more = -1, because
	if w.Until.IsZero() {
		return l
	}
	left := max(w.Until.Sub(v.at), 0)
	l.more = v.language.Say(format, seconds(left)) + v.ifSome(", %s", because)
	if whole := w.Until.Sub(w.Since); !w.Since.IsZero() && whole > 0 {
		l.share = 1 - float64(left)/float64(whole)
	}
	return l
}

// pulling is how far the image is that a container waits for.
func (v moment) pulling(w *lifecycle.Wait) look {
	for _, p := range v.now.Pulls {
		switch {
		case p.Image != w.On || p.TotalBytes == 0:
		case p.DoneBytes >= p.TotalBytes:
			return look{busy, v.language.Word("unpacking"), 1, images.Size(p.TotalBytes) + v.layer(&p)}
		default:
			text := v.language.Say("%s at %s/s", images.Share(p.DoneBytes, p.TotalBytes, v.language.Say), images.Size(p.BytesPerSecond)) + v.layer(&p)
			return look{busy, v.language.Word("pulling"), float64(p.DoneBytes) / float64(p.TotalBytes), text}
		}
	}
	return look{busy, v.language.Word("pulling"), -1, strings.TrimSpace(w.On + " " + v.lasting(w.Since))}
}

func (v moment) layer(p *journal.Pull) string {
	if p.Layer == nil || p.Layers < 2 {
		return ""
	}
	return v.language.Say(", layer %d of %d", p.Layer.Number, p.Layers)
}

// ofPod is how the pod as a whole is, beside its containers: what it waits for.
func (v moment) ofPod() (list []look) {
	if left, is := v.graceLeft(); is {
		list = append(list, look{busy, v.language.Word("stopping"), -1, v.language.Say("killed in %s; Ctrl-C kills now", seconds(left))})
	}
	for i := range v.now.Waits {
		w := &v.now.Waits[i]
		if w.Subject != "pod" {
			continue
		}
		word := strings.ReplaceAll(string(w.For), "-", " ")
		if known, is := words[w.For]; is {
			word = v.language.Word(known.word)
		}
		t := busy
		if w.Because != "" && w.For != lifecycle.WaitCompletion && w.For != lifecycle.WaitRestartAll {
			t = bad
		}
		l := v.counting(look{tone: t, word: word}, w, "next try in %s")
		if w.On != "" {
			l.word += " " + w.On
		}
		list = append(list, l)
	}
	return list
}

// graceLeft is what is left until the last container of a pod that ends is killed.
func (v moment) graceLeft() (left time.Duration, is bool) {
	if !v.ending() {
		return 0, false
	}
	for _, w := range v.now.Waits {
		switch w.For {
		case lifecycle.WaitGrace, lifecycle.WaitPreStop, lifecycle.WaitStopTurn:
			if !w.Until.IsZero() {
				left, is = max(left, w.Until.Sub(v.at)), true
			}
		default:
		}
	}
	return left, is
}

// seconds is a time that is left, or has passed.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	}
	return d.Round(time.Second).String()
}

// lasting is "for 12s"; empty if it is not known since when.
func (v moment) lasting(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return v.language.Say("for %s", max(v.at.Sub(since), 0).Truncate(time.Second))
}

func (v moment) ifSome(format, text string) string {
	if text == "" {
		return ""
	}
	return v.language.Say(format, text)
}
