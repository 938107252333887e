package why

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// ending is how an instance of a container ended, and what led to it.
type ending struct {
	decided journal.Entry   // the decision on it: "exited 1 → restart in 10s"
	chain   []journal.Entry // what led to it, oldest first, with what was decided
	exit    *journal.Exit   // nil: only its code and its reason are known
	usage   *journal.Usage
	killed  *journal.Killed
	said    string // the last line that it wrote
}

// code is the exit code.
func (e *ending) code() int32 {
	if e.exit != nil {
		return e.exit.Code
	}
	return e.decided.Says().Code
}

// reason is the runtime's, or lifepod's: Error, OOMKilled …
func (e *ending) reason() string {
	if e.exit != nil {
		return e.exit.Reason
	}
	return e.decided.Says().Reason
}

// at is when the instance ended.
func (e *ending) at() time.Time {
	if e.exit != nil && !e.exit.FinishedAt.IsZero() {
		return e.exit.FinishedAt
	}
	return e.decided.At
}

// withPod says that the container was stopped with its pod, which is no news.
func (e ending) withPod() bool {
	because := e.decided.Says().Because.Kind
	return because == lifecycle.BecauseStopped || because == lifecycle.BecausePodEnds
}

// completed says that the instance has ended as it should, like an init container.
func (e *ending) completed() bool { return e.code() == 0 && e.decided.Outcome == "" }

// asked says whether the instance was being stopped when it ended.
func (e *ending) asked() bool {
	return e.begun("StopContainer") != nil || e.begun("StopSandbox") != nil
}

// begun is the last work of that name that led to the end; nil: there was none.
func (e *ending) begun(name string) *journal.Entry {
	for i, c := range slices.Backward(e.chain) {
		if c.Kind == journal.Begun && c.Name == name {
			return &e.chain[i]
		}
	}
	return nil
}

// endings are those of a container's instances that the journal has, oldest first.
func (t *explainer) endings(container string) (list []ending) {
	known := map[uint32]bool{}
	for _, e := range t.Entries {
		if e.Container == container && t.isExit(e) {
			known[e.Attempt] = true
			list = append(list, t.endingOf(e))
		}
	}
	for _, end := range t.Ends { // their entries may have been given up
		if end.Container == container && !known[end.Attempt] {
			list = append(list, endingOf(end))
		}
	}
	slices.SortStableFunc(list, func(a, b ending) int { return a.at().Compare(b.at()) })
	if n := len(list); n > 0 && list[n-1].exit == nil {
		list[n-1].exit = t.exitNow(&list[n-1])
	}
	return list
}

// exitNow is what the status says of a container's last end, which a snapshot of the runtime has told of; nil: it says
// nothing, or of another one.
func (t *explainer) exitNow(last *ending) *journal.Exit {
	state := t.stateOf(last.decided.Container)
	if state == nil || state.Exit == nil || state.Exit.Code != last.code() || state.Exit.Reason != last.reason() {
		return nil
	}
	return state.Exit
}

// isExit says that an entry is the decision on an exit: it says so, or, of a lifepod that kept only words, is the first
// one after an exit.
func (t *explainer) isExit(e journal.Entry) bool {
	if e.Kind != journal.Decided || e.Report != nil {
		return e.Says().Kind == lifecycle.KindExited
	}
	i, known := t.byID[e.Cause]
	if !known || t.Entries[i].Exit == nil {
		return false
	}
	first := slices.IndexFunc(t.Entries[i:], isDecided)
	return first >= 0 && t.Entries[i+first].ID == e.ID
}

func isDecided(e journal.Entry) bool { return e.Kind == journal.Decided }

// endingOf follows the causes of a decision on an exit.
func (t *explainer) endingOf(decided journal.Entry) ending {
	e := ending{decided: decided, chain: t.ledTo(decided)}
	for _, c := range e.chain {
		if c.Exit != nil && c.Container == decided.Container {
			e.exit = c.Exit
		}
	}
	for _, end := range t.Ends {
		if end.Container == decided.Container && end.Attempt == decided.Attempt {
			e.exit, e.usage, e.killed, e.said = cmp.Or(e.exit, &end.Exit), end.Usage, end.Killed, end.Said
		}
	}
	return e
}

// endingOf is an end of which only what was kept with it is left.
func endingOf(end journal.End) ending {
	e := ending{chain: end.Chain, exit: &end.Exit, usage: end.Usage, killed: end.Killed, said: end.Said}
	for _, c := range slices.Backward(end.Chain) {
		if c.Says().Kind == lifecycle.KindExited || c.Report == nil && isDecided(c) && c.Cause == end.Entry {
			e.decided = c
		}
	}
	e.decided.Container, e.decided.Attempt = end.Container, end.Attempt
	return e
}

// ledTo are the entries that led to a decision on an exit, oldest first, and the decision.
// They go back to what came from outside, and not beyond the start of the instance.
func (t *explainer) ledTo(decided journal.Entry) []journal.Entry {
	list := t.follow(decided)
	began := t.startOf(decided)
	switch first := list[0]; {
	case first.Says().Kind == lifecycle.KindHookTimedOut: // time has led to it: what began the hook?
		if hook, found := t.before(first, began, isPreStop); found {
			list = append(t.follow(hook), list...)
		}
	case first.Kind == journal.Begun && isStopping(first): // time has led to it: what ends the pod?
		if end, found := t.before(first, began, endsPod); found {
			list = append(t.follow(end), list...)
		}
	}
	return list
}

func isStopping(e journal.Entry) bool { return e.Name == "StopContainer" || e.Name == "StopSandbox" }

func isPreStop(e journal.Entry) bool {
	return e.Kind == journal.Begun && e.Name == "RunHook" && e.Detail["hook"] == "PreStop"
}

// follow are an entry and its causes, oldest first, but not those of the instance's start.
func (t *explainer) follow(e journal.Entry) []journal.Entry {
	list := []journal.Entry{e}
	for e.Cause != 0 && e.Cause < e.ID {
		i, known := t.byID[e.Cause]
		if e = t.Entries[i]; !known || t.starts(e) {
			break
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list
}

// starts says that an entry belongs to the start of an instance.
func (t *explainer) starts(e journal.Entry) bool {
	switch e.Name {
	case "CreateContainer", "StartContainer", "PullImage", "InspectImage":
		return true
	}
	kind := e.Says().Kind
	return kind == lifecycle.KindStarted || kind == lifecycle.KindReady || t.isExit(e)
}

// startOf is the ID of the entry with which the instance started whose end is decided; 0: it
// is not known.
func (t *explainer) startOf(decided journal.Entry) int64 {
	for _, e := range slices.Backward(t.Entries[:t.byID[decided.ID]]) {
		if e.Container == decided.Container && e.Kind == journal.Begun && e.Name == "StartContainer" {
			return e.ID
		}
	}
	return 0
}

// before is the newest entry before another one that is of the same container, or of the
// pod, and not older than began.
func (t *explainer) before(e journal.Entry, began int64, is func(journal.Entry) bool) (journal.Entry, bool) {
	for _, other := range slices.Backward(t.Entries[:t.byID[e.ID]]) {
		if other.ID < began {
			break
		}
		if is(other) && (other.Container == "" || other.Container == e.Container) {
			return other, true
		}
	}
	return journal.Entry{}, false
}
