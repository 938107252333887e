package sim

import (
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// instance is what is known of one run of a container.
type instance struct {
	attempt    uint32
	starting   time.Time // when its start was asked for
	running    time.Time // when the machine learned that it runs
	startError string
	stopping   time.Time // when its stop was asked for
	timeout    time.Duration
	ended      *journal.Entry // its exit
	probes     map[string][]*journal.Entry
	hooks      scenario.Hooks
	hookBegun  map[int64]*journal.Entry
}

func (l *life) of(e *journal.Entry) *instance {
	for _, i := range l.containers[e.Container] {
		if i.attempt == e.Attempt {
			return i
		}
	}
	i := &instance{attempt: e.Attempt, probes: map[string][]*journal.Entry{}, hookBegun: map[int64]*journal.Entry{}}
	l.containers[e.Container] = append(l.containers[e.Container], i)
	slices.SortFunc(l.containers[e.Container], func(a, b *instance) int { return int(a.attempt) - int(b.attempt) })
	return i
}

func (l *life) instanceBegun(e *journal.Entry) {
	switch e.Name {
	case "StartContainer":
		l.of(e).starting = e.At
	case "StopContainer":
		if i := l.of(e); i.stopping.IsZero() {
			i.stopping, i.timeout = e.At, secondsIn(e.Detail[journal.DetailTimeout])
		}
	case "RunHook":
		l.of(e).hookBegun[e.ID] = e
	}
}

func (l *life) instanceAnswered(e *journal.Entry) {
	switch e.Name {
	case "StartContainer":
		i := l.of(e)
		if e.Failure == nil && i.running.IsZero() {
			i.running = e.At
		}
		if e.Failure != nil && e.Failure.Class == "failed" {
			i.startError = e.Failure.Message
		}
	case "RunHook":
		i := l.of(e)
		if begun := i.hookBegun[e.Cause]; begun != nil {
			i.hook(begun, e)
		}
	}
}

// instanceFact files a fact that is about an instance; false: it is about something else.
func (l *life) instanceFact(e *journal.Entry) bool {
	switch e.Name {
	case "ContainerRunning":
		if i := l.of(e); i.running.IsZero() {
			i.running = e.At
		}
	case "ContainerExited":
		if i := l.of(e); i.ended == nil {
			i.ended = e
		}
	case "Probed":
		i, kind := l.of(e), e.Detail[journal.DetailProbe]
		i.probes[kind] = append(i.probes[kind], e)
	default:
		return false
	}
	return true
}

// exitOf is what an entry says of an exit; nil: nothing. One that was found by a snapshot is no fact of its own.
func exitOf(e *journal.Entry) *journal.Exit {
	if says := e.Says(); says.Kind == lifecycle.KindExited {
		return &journal.Exit{Code: says.Code, Reason: says.Reason, FinishedAt: e.At, StartedAt: e.At}
	}
	return e.Exit
}

// ofReboot says whether an exit is the end of a node, of which nobody knows more.
func ofReboot(exit *journal.Exit) bool { return exit.Code == 255 && exit.Reason == "Unknown" }

// decided files an exit that no fact has reported.
func (l *life) decided(e *journal.Entry) {
	exit := exitOf(e)
	if exit == nil || e.Container == "" {
		return
	}
	if i := l.of(e); i.ended == nil {
		ended := *e
		ended.Exit, ended.Cause = exit, 0
		i.ended = &ended
	}
}

func (i *instance) hook(begun, answer *journal.Entry) {
	h := &scenario.Hook{Takes: span(answer.At.Sub(begun.At))}
	if f := answer.Failure; f != nil {
		switch f.Class {
		case "failed":
			h.Fail = f.Message
		case "uncertain": // its time ran out
			h.Takes = forEver()
		}
	}
	if begun.Detail[journal.DetailHook] == "PreStop" {
		i.hooks.PreStop = h
	} else {
		i.hooks.PostStart = h
	}
}

func forEver() *scenario.Span {
	s, err := scenario.ParseSpan("forever")
	if err != nil {
		panic(err) // it can be read
	}
	return &s
}

func (l *life) runs() map[string]scenario.Container {
	all := map[string]scenario.Container{}
	for name, instances := range l.containers {
		if name == "" {
			continue
		}
		var runs []scenario.Run
		for _, i := range instances {
			for len(runs) < int(i.attempt) {
				runs = append(runs, scenario.Run{Run: forEver()}) // nothing is known of it
			}
			runs = append(runs, i.run())
		}
		all[name] = scenario.Container{Runs: runs}
	}
	return all
}

func (i *instance) run() scenario.Run {
	r := scenario.Run{StartError: i.startError, Run: forEver()}
	running := i.running
	if running.IsZero() && i.ended != nil { // it ended before anybody saw it run
		running = i.ended.At.Add(-i.ended.Exit.FinishedAt.Sub(i.ended.Exit.StartedAt))
	}
	if !i.starting.IsZero() && !running.IsZero() {
		r.Start = span(running.Sub(i.starting))
	}
	if i.startError != "" {
		r.Run = nil
		return r
	}
	if i.ended != nil {
		i.end(&r, running)
	}
	r.Probes = i.answers(running)
	if i.hooks != (scenario.Hooks{}) {
		r.Hooks = &i.hooks
	}
	return r
}

// justBefore its kill an instance has still ended by itself.
const justBefore = 10 * time.Millisecond

// end says how it ended: by itself, or when it was told to.
func (i *instance) end(r *scenario.Run, running time.Time) {
	exit := i.ended.Exit
	if ofReboot(exit) {
		return // the node's end was its end
	}
	if i.ended.Cause == 0 && i.stopping.IsZero() {
		r.Run, r.Message = span(i.ended.At.Sub(running)), exit.Message
		if exit.Reason == "OOMKilled" {
			r.OOM = true
		} else {
			r.Exit = &exit.Code
		}
		return
	}
	if i.stopping.IsZero() {
		return // it was killed with all others
	}
	after := i.ended.At.Sub(i.stopping)
	if exit.Code == 137 && after >= i.timeout {
		r.Stop = &scenario.Stop{Ignore: true}
		return
	}
	if after >= i.timeout { // it was in time, and the machine learned of it late
		after = max(0, min(exit.FinishedAt.Sub(i.stopping), i.timeout-justBefore))
	}
	r.Stop = &scenario.Stop{After: span(after), Exit: &exit.Code}
}
