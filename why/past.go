package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	if end, found := t.podEnd(list); found {
		list = append(list, end)
	}
	return list
}

// neverStarted is what kept containers of a pod that ends from starting: the newest failure that no start has followed.
func (t *explainer) neverStarted() (s Sentence, found bool) {
	for _, e := range t.Entries {
		switch e.Says().Kind {
		case lifecycle.KindStarted, lifecycle.KindExited:
			found = found && s.Subject != ofPod && s.Subject != e.Container
		case lifecycle.KindImageFailed, lifecycle.KindStartFailed, lifecycle.KindSetupFailed, lifecycle.KindSandboxFailed:
			subject := cmp.Or(e.Container, ofPod)
			text := t.Say("%s never started; at %s: %s.", cmp.Or(e.Container, t.Word("The containers")), t.clock(e.At), bare(e.Words(t.Say).What)+t.inBrackets(bare(e.Words(t.Say).Because)))
			s, found = Sentence{Kind: KindUnstarted, Subject: subject, At: e.At, Text: text, Rules: rulesOf([]journal.Entry{e}), Chain: t.follow(e)}, true
		default:
		}
	}
	return s, found
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
	begin, end := t.clock(first.At)+t.inBrackets(t.because(first)), t.clock(last.At)+t.inBrackets(t.because(last))
	text := t.Say("All containers were restarted in place at %s.", end)
	switch {
	case len(all) > 1 && t.Left > 0:
		text = t.Say("All containers were restarted in place at least %d times, first at %s, last at %s.", len(all), begin, end)
	case len(all) > 1:
		text = t.Say("All containers were restarted in place %d times, first at %s, last at %s.", len(all), begin, end)
	}
	return Sentence{Kind: KindRestartsAll, Subject: ofPod, At: last.At, Text: text, Rules: rulesOf(all), Chain: all}, true
}

// podEnd is what decided that the pod ends: the newest decision that does.
func (t *explainer) podEnd(before []Sentence) (s Sentence, found bool) {
	for _, e := range slices.Backward(t.Entries) {
		if endsPod(e) {
			chain, at := t.follow(e), e.At
			for _, s := range before {
				if s.Kind == KindExit && e.Says().Kind == lifecycle.KindEnds && s.At.Before(at) { // that has ended the pod: it says more, and comes first
					at = s.At
				}
			}
			return Sentence{Kind: KindEnd, Subject: ofPod, At: at, Text: t.endText(e) + t.Word("."), Rules: rulesOf(chain), Chain: chain}, true
		}
	}
	return s, false
}

// endText is why the pod ends, and whose decision that was.
func (t *explainer) endText(e journal.Entry) string {
	at, because := t.clock(e.At), t.because(e)
	switch says := e.Says(); says.Kind {
	case lifecycle.KindRejected:
		return t.Say("The node rejected the pod at %s%s; nothing of it was started", at, t.ifSome(": %s", because))
	case lifecycle.KindEvicted:
		return t.Say("The node evicted the pod at %s", at) + t.ifSome(": %s", because)
	case lifecycle.KindEndedBefore:
		return t.Say("The pod had ended already when this lifepod took it over at %s", at) + t.inBrackets(because)
	case lifecycle.KindDeadlineExceeded:
		return t.Say("The pod %s at %s", e.Words(t.Say).What, at)
	case lifecycle.KindStopRequested:
		text := t.Say("The pod's end was asked for at %s", at) + t.inBrackets(because)
		if says.Outcome == lifecycle.ThenGrace {
			text += t.Say(", with a grace of %s", says.Span)
		}
		return text
	default:
	}
	return t.Say("The pod ended at %s", at) + t.ifSome(": %s", because)
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
		Kind: KindExit, Subject: c.Name, At: last.at(), Text: t.Say("%s at %s: %s.", c.Name, t.clock(last.at()), t.chainText(last)),
		Rules: rulesOf(last.chain), Chain: last.chain,
		ExitCode: new(last.code()), Signal: lifecycle.SignalOf(last.code()), Reason: last.reason(), Said: cmp.Or(last.message(), last.wrote()),
		Action: last.decided.Says().Outcome, DelaySeconds: last.decided.Says().Span.Seconds(),
	})
	if last.reason() == "OOMKilled" {
		list = append(list, Sentence{Kind: KindOOM, Subject: c.Name, At: last.at(), Text: t.oomText(c, last) + t.Word(".")})
	}
	if restarts := t.restartsOf(c.Name); restarts > 1 {
		list = append(list, Sentence{Kind: KindRepeats, Subject: c.Name, At: all[0].at(), Text: t.repeatsText(c.Name, restarts, all) + t.Word(".")})
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
func (w words) oomText(c journal.Container, e *ending) string {
	process := w.Word("a process")
	if e.killed != nil {
		process = w.Say("the process %s (PID %d)", e.killed.Process, e.killed.PID)
	}
	text := w.Say("The kernel killed %s of %s because the container needed more memory than it may have", process, c.Name)
	if c.MemoryLimitBytes > 0 {
		text += w.Say(": its limit is %s", w.bytes(c.MemoryLimitBytes))
	} else {
		text += w.Word(": it has no limit of its own, so that of its pod or of the machine was reached")
	}
	if e.usage != nil && e.usage.MemoryPeakBytes > 0 {
		text += w.Say("; at its peak the whole pod had %s", w.bytes(e.usage.MemoryPeakBytes))
	}
	return text
}

// repeatsText says how often a container was restarted, and how its instances ended of which
// something is known.
func (t *explainer) repeatsText(name string, restarts int32, all []ending) string {
	text := t.Say(map[bool]string{true: "%s was restarted %d times", false: "%s has been restarted %d times"}[t.over()], name, restarts)
	how := map[string]int{}
	var order []string
	for i := range all {
		exit := t.exitText(&all[i])
		if how[exit] == 0 {
			order = append(order, exit)
		}
		how[exit]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(how[b], how[a]) })
	for i, exit := range order {
		order[i] = fmt.Sprintf("%s %d×", exit, how[exit])
	}
	return text + t.Say("; its first end was at %s", t.clock(all[0].at())) + t.inBrackets(strings.Join(order, t.Word(", ")))
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
