package sim

import (
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/sim/scenario"
)

// elsewhere are calls that are part of a container's runs, or of an image.
var elsewhere = []string{"StartContainer", "StopContainer", "RunHook", "Probe", "PullImage"}

// calls are how long calls took, and which failed.
func (l *life) calls() (list []scenario.Call) {
	for _, name := range scenario.Calls {
		if !slices.Contains(elsewhere, name) {
			list = append(list, l.callsOf(name)...)
		}
	}
	return list
}

// exactlyUpTo is how many calls of a kind are reported one by one: what somebody did to the pod, by the clock, came between
// two of them. Later ones take as long as was usual.
const exactlyUpTo = 24

// callsOf are those of one kind, in their order.
func (l *life) callsOf(name string) (list []scenario.Call) {
	var answered []*journal.Entry // what was begun
	var took []time.Duration      // by those that did not fail
	for _, b := range l.begun {
		if a := l.answers[b.ID]; b.Name == name && a != nil {
			answered = append(answered, b)
			if a.Failure == nil {
				took = append(took, a.At.Sub(b.At))
			}
		}
	}
	if answered == nil {
		return nil
	}
	if took == nil {
		took = []time.Duration{0}
	}
	usual := span(median(took))
	for i, b := range answered {
		a := l.answers[b.ID]
		switch {
		case a.Failure != nil:
			list = append(list, failing(name, a.At.Sub(b.At), a.Failure))
		case i < exactlyUpTo:
			list = further(list, scenario.Call{Call: name, Times: 1, Takes: span(a.At.Sub(b.At))})
		default:
			list = further(list, scenario.Call{Call: name, Times: 1, Takes: usual})
		}
	}
	return append(list, scenario.Call{Call: name, Takes: usual})
}

// further adds one that worked, which may have been as long as the one before it.
func further(list []scenario.Call, c scenario.Call) []scenario.Call {
	if n := len(list) - 1; n >= 0 && list[n].Fail == "" && !list[n].Hang && list[n].Takes.String() == c.Takes.String() {
		list[n].Times++
		return list
	}
	return append(list, c)
}

func failing(name string, took time.Duration, f *journal.Failure) scenario.Call {
	c := scenario.Call{Call: name, Times: 1}
	if f.Class == "uncertain" {
		c.Hang = true
		return c
	}
	c.Fail, c.Takes = f.Message, span(took)
	return c
}

func (l *life) images() map[string]scenario.Image {
	all := map[string]scenario.Image{}
	looked := map[string]bool{} // containers for which it was looked whether their image is there
	for _, b := range l.begun {
		a := l.answers[b.ID]
		if a == nil || b.Name != "InspectImage" && b.Name != "PullImage" {
			continue
		}
		name := l.imageName(b)
		i, known := all[name]
		switch {
		case b.Name == "InspectImage":
			looked[b.Container] = true
			if !known {
				i.Present = new(a.Bytes > 0)
			}
		case a.Failure != nil:
			i.Failures++
			i.Error, i.Pull = a.Failure.Message, span(a.At.Sub(b.At))
		default:
			i.Pull = span(a.At.Sub(b.At))
		}
		if b.Name == "PullImage" && looked[b.Container] {
			i.Present = new(false) // or the pod might not use it (A-IMG-8)
		}
		if a.Bytes > 0 {
			i.Bytes = new(int64(a.Bytes)) //nolint:gosec // no image is that large
		}
		all[name] = i
	}
	return all
}

// imageName is as the pod says it: the machine adds a tag.
func (l *life) imageName(e *journal.Entry) string {
	for _, c := range l.record.Pod.Containers {
		if c.Name == e.Container {
			return c.Image
		}
	}
	return e.Image
}
