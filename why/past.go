package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// endsPod says that a decision ends the pod.
func endsPod(e journal.Entry) bool { return e.Container == "" && e.Says().Kind.EndsPod() }

// past tells what has happened: of each container the last end that was not as it should be, how often all were
// restarted, and why the pod ends.
func (t *explainer) past() (list []Sentence) {
	for _, c := range t.Pod.Containers {
		list = append(list, t.exits(c)...)
	}
	if all, found := t.restartsOfAll(); found && (len(all.Chain) > 1 || len(list) == 0) {
		list = append(list, all)
	}
	if end, found := t.podEnd(); found {
		list = append(list, end)
	}
	return list
}

// restartsOfAll says how often all containers were restarted in place.
func (t *explainer) restartsOfAll() (s Sentence, found bool) {
	var all []journal.Entry
	for _, e := range t.Entries {
		if e.Says().Kind == lifecycle.KindRestartsAll {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return s, false
	}
	first, last := all[0], all[len(all)-1]
	text := "All containers were restarted in place"
	if len(all) > 1 {
		if t.Left > 0 {
			text += " at least"
		}
		text += fmt.Sprintf(" %d times, first at %s", len(all), t.clock(first.At)) + inBrackets(bare(first.Because)) + ", last"
	}
	text += " at " + t.clock(last.At) + inBrackets(bare(last.Because)) + "."
	return Sentence{Kind: KindRestartsAll, Subject: ofPod, At: last.At, Text: text, Rules: rulesOf(all), Chain: all}, true
}

// podEnd is what decided that the pod ends: the newest decision that does.
func (t *explainer) podEnd() (s Sentence, found bool) {
	for _, e := range slices.Backward(t.Entries) {
		if endsPod(e) {
			chain := t.follow(e)
			return Sentence{Kind: KindEnd, Subject: ofPod, At: e.At, Text: t.endText(e) + ".", Rules: rulesOf(chain), Chain: chain}, true
		}
	}
	return s, false
}

// endText is why the pod ends, and whose decision that was.
func (t *explainer) endText(e journal.Entry) string {
	at := " at " + t.clock(e.At)
	switch says := e.Says(); says.Kind {
	case lifecycle.KindRejected:
		return "The node rejected the pod" + at + ifSome(": ", bare(e.Because)) + "; nothing of it was started"
	case lifecycle.KindEvicted:
		return "The node evicted the pod" + at + ifSome(": ", bare(e.Because))
	case lifecycle.KindEndedBefore:
		return "The pod had ended already when this lifepod took it over" + at + inBrackets(bare(e.Because))
	case lifecycle.KindDeadlineExceeded:
		return "The pod " + e.What + at
	case lifecycle.KindStopRequested:
		text := "The pod's end was asked for" + at + inBrackets(bare(e.Because))
		if says.Outcome == lifecycle.ThenGrace {
			text += ", with a grace of " + says.Span.String()
		}
		return text
	default:
	}
	return "The pod ended" + at + ifSome(": ", bare(e.Because))
}

// exits tells of a container's last end that was not as it should be, and how often it was restarted.
func (t *explainer) exits(c journal.Container) (list []Sentence) {
	all := slices.DeleteFunc(t.endings(c.Name), ending.withPod)
	i := len(all) - 1
	for i >= 0 && all[i].completed() {
		i--
	}
	if i < 0 {
		return nil
	}
	last := &all[i]
	list = append(list, Sentence{
		Kind: KindExit, Subject: c.Name, At: last.at(), Text: c.Name + " at " + t.clock(last.at()) + ": " + t.chainText(last) + ".",
		Rules: rulesOf(last.chain), Chain: last.chain,
	})
	if last.reason() == "OOMKilled" {
		list = append(list, Sentence{Kind: KindOOM, Subject: c.Name, At: last.at(), Text: oomText(c, last) + "."})
	}
	if restarts := t.restartsOf(c.Name); restarts > 1 {
		list = append(list, Sentence{Kind: KindRepeats, Subject: c.Name, At: all[0].at(), Text: t.repeatsText(c.Name, restarts, all) + "."})
	}
	return list
}

func (t *explainer) restartsOf(container string) int32 {
	if state := t.stateOf(container); state != nil {
		return state.Restarts
	}
	return 0
}

// oomText is what a kill for memory meant.
func oomText(c journal.Container, e *ending) string {
	process := "a process"
	if e.killed != nil {
		process = fmt.Sprintf("the process %s (PID %d)", e.killed.Process, e.killed.PID)
	}
	text := "The kernel killed " + process + " of " + c.Name + " because the container needed more memory than it may have"
	if c.MemoryLimitBytes > 0 {
		text += ": its limit is " + bytes(c.MemoryLimitBytes)
	} else {
		text += ": it has no limit of its own, so that of its pod or of the machine was reached"
	}
	if e.usage != nil && e.usage.MemoryPeakBytes > 0 {
		text += "; at its peak the whole pod had " + bytes(e.usage.MemoryPeakBytes)
	}
	return text
}

// repeatsText says how often a container was restarted, and how its instances ended of which
// something is known.
func (t *explainer) repeatsText(name string, restarts int32, all []ending) string {
	text := fmt.Sprintf("%s %s restarted %d times", name, map[bool]string{true: "was", false: "has been"}[t.over()], restarts)
	how := map[string]int{}
	var order []string
	for i := range all {
		exit := exitText(&all[i])
		if how[exit] == 0 {
			order = append(order, exit)
		}
		how[exit]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(how[b], how[a]) })
	for i, exit := range order {
		order[i] = fmt.Sprintf("%s %d×", exit, how[exit])
	}
	return text + "; its first end was at " + t.clock(all[0].at()) + inBrackets(strings.Join(order, ", "))
}

// rulesOf are those of the decisions in a chain, the newest first.
func rulesOf(chain []journal.Entry) (list []string) {
	for _, e := range slices.Backward(chain) {
		if e.Rule != "" && !slices.Contains(list, e.Rule) {
			list = append(list, e.Rule)
		}
	}
	return list
}

// Trouble is what pods have in common that are not as they should be.
type Trouble struct {
	Pods []journal.Pod `json:"pods"`
	// Standing is how the first of them is; Cause is what is behind it.
	Standing string   `json:"standing"`
	Cause    Sentence `json:"cause"`

	badness int
}

// Overview says of all pods that are not as they should be what is behind it, the worst first:
// pods with one cause are reported together. Pods that are gone, that have succeeded, or that are
// Ready and end nothing, are as they should be.
func Overview(records []*journal.Record, now time.Time) []Trouble {
	var list []Trouble
	by := map[string]int{}
	for _, record := range records {
		one, bad := troubleOf(record, now)
		if !bad {
			continue
		}
		key := sharedCause(one.Cause.Wait)
		if i, known := by[key]; known && key != "" {
			list[i].Pods = append(list[i].Pods, one.Pods...)
			continue
		}
		by[key] = len(list)
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.badness, b.badness), cmp.Compare(len(b.Pods), len(a.Pods)), a.Cause.At.Compare(b.Cause.At))
	})
	return list
}

// How bad it is that a pod is as it is.
const (
	worstUnled = iota
	worstFailing
	worstFailed
	worstEnding
	worstWaiting
)

// troubleOf says what is wrong with a pod; false: nothing.
func troubleOf(record *journal.Record, now time.Time) (Trouble, bool) {
	t := newExplainer(record, now)
	if t.Now == nil || t.over() || t.Now.Phase == "Succeeded" {
		return Trouble{}, false
	}
	e := Explain(record, now)
	one := Trouble{Pods: []journal.Pod{record.Pod}, Standing: e.Standing, badness: worstWaiting}
	if len(e.Sentences) > 0 && e.Sentences[0].Kind != KindLeft {
		one.Cause = e.Sentences[0]
	}
	failing := slices.IndexFunc(e.Sentences, func(s Sentence) bool { return s.Kind == KindWait && s.Wait.Because != "" })
	switch {
	case one.Cause.Kind == KindUnled:
		one.badness = worstUnled
	case t.Now.Phase == "Failed":
		one.badness = worstFailed
	case failing >= 0:
		one.badness, one.Cause = worstFailing, e.Sentences[failing]
	case t.ending() || !t.Now.Deleting.IsZero():
		one.badness = worstEnding
	}
	return one, !t.Now.Ready || t.ending() || one.badness == worstUnled
}

// sharedCause is equal for waits of several pods that end together; empty: none does.
func sharedCause(w *lifecycle.Wait) string {
	if w == nil {
		return ""
	}
	switch w.For {
	case lifecycle.WaitImage, lifecycle.WaitImagePull, lifecycle.WaitImageRetry:
		return "image\x00" + w.On
	case journal.WaitNode:
		return string(w.For) + "\x00" + w.On
	case lifecycle.WaitNetwork, journal.WaitScheduling:
		return string(w.For) + "\x00" + w.Because
	default:
	}
	return ""
}
