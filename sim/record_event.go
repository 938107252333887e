package sim

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/sim/scenario"
)

// happened files what somebody did to the pod, or what befell the node.
func (l *life) happened(i int) {
	e := &l.record.Entries[i]
	h := scenario.Event{At: l.at(e.At)}
	asked := e.Detail[journal.DetailBecause]
	switch e.Name {
	case "Rejected":
		l.refusal = &scenario.Refusal{Reason: e.Because, Message: e.What}
		return
	case "StopRequested":
		stopRequested(&h, e)
	case "PodUpdated":
		if !l.deletes(e) {
			return
		}
		h.Delete = &scenario.Delete{GraceSeconds: graceOf(e)}
	case "RestartRequested":
		h.Restart = &scenario.Restart{Container: e.Container, Because: asked}
	case "EvictionRequested":
		h.Evict = &scenario.Evict{Reason: l.reasonOfEnd(i), Message: e.What}
	case "SandboxExited":
		if e.Cause != 0 {
			return // it was stopped
		}
		h.SandboxExit = &scenario.Nothing{}
	case "Resumed":
		h = l.resumed(i)
	case "ObjectsChanged":
		h.ObjectsChanged = &scenario.Objects{Because: asked}
	case "EphemeralContainerAdded":
		if l.has(func(o scenario.Event) bool { return o.AddContainer != nil && o.AddContainer.Name == e.Container }) {
			return // asked for twice
		}
		h.AddContainer = &scenario.Added{Name: e.Container, Image: l.addedImage(e.Container)}
	default:
		return
	}
	l.events = append(l.events, h)
}

func stopRequested(h *scenario.Event, e *journal.Entry) {
	asked := e.Detail[journal.DetailBecause]
	if e.Detail[journal.DetailForce] != "" {
		h.Kill = &scenario.Kill{Because: asked}
		return
	}
	h.Delete = &scenario.Delete{GraceSeconds: graceOf(e), Because: asked}
}

// deletes says whether the pod's object tells for the first time that somebody has deleted it.
func (l *life) deletes(e *journal.Entry) bool {
	return e.Detail[journal.DetailGrace] != "" && !l.has(func(o scenario.Event) bool { return o.Delete != nil || o.Kill != nil })
}

func (l *life) has(what func(scenario.Event) bool) bool { return slices.ContainsFunc(l.events, what) }

func graceOf(e *journal.Entry) *int64 {
	n, err := strconv.ParseInt(e.Detail[journal.DetailGrace], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// reasonOfEnd is the status' reason after an eviction.
func (l *life) reasonOfEnd(from int) string {
	for _, e := range l.record.Entries[from:] {
		if e.Kind == journal.Milestone && e.Name == "phase" && e.Because != "" {
			return e.Because
		}
	}
	return ""
}

// awayAfter is for how long there was no lifepod, at most: nobody knows when it ended.
const awayAfter = time.Second

// resumed is that another lifepod goes on. If what ran has ended meanwhile, as nobody knows how,
// the node was rebooted.
func (l *life) resumed(i int) scenario.Event {
	e := &l.record.Entries[i]
	gone := e.At.Add(-awayAfter)
	if i > 0 && l.record.Entries[i-1].At.After(gone) {
		gone = l.record.Entries[i-1].At.Add(e.At.Sub(l.record.Entries[i-1].At) / 2)
	}
	h, down := scenario.Event{At: l.at(gone)}, &scenario.Down{For: span(e.At.Sub(gone))}
	for _, next := range l.record.Entries[i:] {
		if exit := exitOf(&next); exit != nil && ofReboot(exit) {
			h.Reboot = down
			return h
		}
	}
	h.AgentCrash = down
	return h
}

// addedImage is that of an ephemeral container.
func (l *life) addedImage(name string) string {
	for _, c := range l.record.Pod.Containers {
		if c.Name == name {
			return c.Image
		}
	}
	for _, e := range l.record.Entries {
		if e.Container == name && e.Image != "" {
			return e.Image
		}
	}
	return cmp.Or(name, "unknown")
}
