package why

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// arrow is between the links of a chain.
const arrow = " → "

// chainText is the whole chain of an end in one line, without its subject:
//
//	liveness probe failed 3 of 3 (HTTP probe failed with statuscode: 503) → killed after 2 s of grace → exit 137 → 2nd restart after a back-off of 20 s
func (t *explainer) chainText(e *ending) string {
	var links []string
	add := func(link string) {
		if link != "" && (len(links) == 0 || links[len(links)-1] != link) {
			links = append(links, link)
		}
	}
	for i, c := range e.chain {
		switch {
		case t.isExit(c):
		case c.Kind == journal.Decided:
			add(t.decisionText(c))
		case c.Kind == journal.Answered && c.Name == "RunHook":
			add(t.hookText(c, e.chain[:i]))
		case c.Kind == journal.Fact && c.Name == "SandboxExited":
			add(t.Word("the pod's sandbox was lost"))
		}
	}
	add(t.stopText(e))
	add(t.exitText(e) + t.startText(e.exit) + t.saying(e.wrote()))
	add(t.outcomeText(e))
	return strings.Join(links, arrow)
}

// decisionText is what was decided before the end, in its own words or in plainer ones.
func (w words) decisionText(d journal.Entry) string {
	switch says := d.Says(); says.Kind {
	case lifecycle.KindProbeFailed:
		n := says.Because.Nth
		return w.Say("%s failed %d of %d", lifecycle.ProbeName(w.Say, says.On), n, n) + w.inBrackets(bare(says.Message))
	case lifecycle.KindHookFailed:
		return w.Say("%s hook failed", says.On) + w.inBrackets(bare(says.Message))
	case lifecycle.KindHookTimedOut:
		return w.Word("its preStop hook did not end in time")
	case lifecycle.KindRestartRequested:
		return w.Word("a restart was asked for") + w.inBrackets(w.because(d))
	case lifecycle.KindReplaced, lifecycle.KindStopped:
		return w.because(d)
	case lifecycle.KindResized:
		return w.Word("its resize needs a restart") + w.inBrackets(w.because(d))
	case lifecycle.KindUnknownState:
		return w.Word("the runtime lost track of it")
	case lifecycle.KindStopRequested:
		return w.Word("the pod's end was asked for") + w.inBrackets(w.because(d))
	case lifecycle.KindEvicted:
		return w.Word("the pod was evicted") + w.inBrackets(w.because(d))
	case lifecycle.KindEnds:
		return w.Word("the pod ended") + w.inBrackets(w.because(d))
	case lifecycle.KindRestartsAll:
		return w.Word("all containers were restarted in place") + w.inBrackets(w.because(d))
	case lifecycle.KindNoAddress, lifecycle.KindSandboxNotReady, lifecycle.KindSandboxLost:
		return w.Say("the pod's %s", d.Words(w.Say).What)
	default:
	}
	text := d.Words(w.Say).What + w.inBrackets(w.because(d))
	if d.Container == "" {
		return w.Say("the pod %s", text)
	}
	return text
}

// because is why something was decided.
func (w words) because(d journal.Entry) string { return bare(d.Words(w.Say).Because) }

// hookText is how a preStop hook went.
func (w words) hookText(answer journal.Entry, before []journal.Entry) string {
	for _, c := range before {
		if c.ID != answer.Cause || c.Detail["hook"] != "PreStop" {
			continue
		}
		if answer.Failure != nil {
			return "" // the decision that follows says so
		}
		return w.Say("its preStop hook ran for %s", w.span(answer.At.Sub(c.At)))
	}
	return ""
}

// stopText is how the instance was stopped; empty: it was not.
func (w words) stopText(e *ending) string {
	stop := e.begun("StopContainer")
	switch {
	case stop == nil && e.begun("StopSandbox") != nil:
		return w.Word("stopped with its sandbox")
	case stop == nil:
		return ""
	case e.decided.Says().Killed == lifecycle.KilledAtOnce, stop.Detail[journal.DetailTimeout] == "0":
		return w.Word("killed at once")
	}
	took := e.at().Sub(stop.At)
	switch {
	case e.decided.Says().Killed == lifecycle.KilledAfterGrace:
		return w.Say("killed after %s of grace", w.span(took))
	case took >= 100*time.Millisecond:
		return w.Say("stopped, ended %s later", w.span(took))
	}
	return w.Word("stopped")
}

// exitText is the exit code with what it means.
func (w words) exitText(e *ending) string {
	code, reason := e.code(), e.reason()
	text := w.Say("exit %d", code)
	switch {
	case reason == "ContainerStatusUnknown":
		return text + w.Word(", made up: nobody knows how it ended")
	case reason != "" && reason != "Completed" && reason != "Error":
		text += " " + reason
	case code == 128+9 && !e.asked():
		text += w.Word(" (SIGKILL, neither from lifepod nor for memory)")
	case code > 128 && !e.asked():
		text += w.inBrackets(signalName(code - 128))
	}
	return text + w.saying(e.message())
}

// message is the last line of the termination message that a process has left.
func (e *ending) message() string {
	if e.exit == nil || neverBegan(e.exit) {
		return ""
	}
	return lastLine(e.exit.Message)
}

// wrote is the last line that a process wrote which failed by itself, unless it has left a termination message.
func (e *ending) wrote() string {
	if e.code() == 0 || e.asked() || !slices.Contains([]string{"", "Error"}, e.reason()) || e.message() != "" {
		return ""
	}
	return lastLine(e.said)
}

func (w words) saying(line string) string { return w.ifSome(`, saying "%s"`, line) }

// backOffText is why a container waits for its next restart: by the decision on its end, if that is known.
func (t *explainer) backOffText(w *lifecycle.Wait) string {
	if all := t.endings(w.Subject); len(all) > 0 {
		if last := all[len(all)-1].decided.Says(); last.Later() {
			return last.In(t.Say).What + t.Word(", ") + last.Because.In(t.Say)
		}
	}
	return w.Because
}

// behindText is what was behind a container's last end: what a probe or a hook, the runtime, or its process said.
func (t *explainer) behindText(container string) string {
	all := t.endings(container)
	if len(all) == 0 {
		return ""
	}
	last := &all[len(all)-1]
	for _, c := range slices.Backward(last.chain) {
		if says := c.Says(); says.Kind == lifecycle.KindProbeFailed || says.Kind == lifecycle.KindHookFailed {
			return t.ifSome(": %s", bare(says.Message))
		}
	}
	text := t.startText(last.exit) + t.ifSome(`; it said "%s"`, cmp.Or(last.message(), last.wrote()))
	if because := last.decided.Says().Because; because.Kind == lifecycle.BecausePolicy {
		text += t.ifSome("; %s", t.ownReason(because, last.code()))
	}
	return text
}

// colours are what programs write to have a terminal show text in colours.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// lastLine is the last line of what a process has said, and at most 120 characters of it: that is where the cause is.
func lastLine(text string) string {
	text = strings.TrimSpace(colours.ReplaceAllString(text, ""))
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if runes := []rune(line); len(runes) > 120 {
		return string(runes[:120]) + " …"
	}
	return line
}

// neverBegan says that the runtime could not start the process: what the exit says is the runtime's.
func neverBegan(e *journal.Exit) bool {
	return e.Reason == "StartError" || e.Reason == "ContainerCannotRun"
}

// startText is what the runtime says of a process that it could not start; empty: it could.
func (w words) startText(e *journal.Exit) string {
	if e == nil || !neverBegan(e) {
		return ""
	}
	return w.ifSome(": %s", firstLine(cri.Reason(e.Message), 300))
}

// firstLine is a termination message in a sentence, most is how many characters of it.
func firstLine(message string, most int) string {
	line, _, more := strings.Cut(strings.TrimSpace(message), "\n")
	if runes := []rune(line); len(runes) > most {
		line, more = string(runes[:most]), true
	}
	if more {
		line += " …"
	}
	return line
}

// signalName is the name of a signal by which processes often end; empty for others.
func signalName(signal int32) string {
	return map[int32]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
	}[signal]
}

// outcomeText is what followed.
func (w words) outcomeText(e *ending) string {
	says, because := e.decided.Says(), e.decided.Because
	if e.decided.Report != nil {
		because = says.Because.In(w.Say) // without how it was killed, which the chain has said
	}
	next := w.Say("%s restart", lifecycle.Ordinal(w.Say, int32(e.decided.Attempt+1))) //nolint:gosec // nothing restarts that often
	switch {
	case says.Later():
		return w.Say("%s after a back-off of %s", next, w.span(says.Span)) + w.inBrackets(w.ownReason(says.Because, e.code()))
	case says.Outcome == lifecycle.ThenRestart:
		return w.Say("%s at once", next) + w.inBrackets(w.ownReason(says.Because, e.code()))
	case says.Outcome == lifecycle.ThenRestartAll:
		return w.Word("all containers are restarted in place") + w.inBrackets(because)
	case says.Outcome == lifecycle.ThenPodFails:
		return w.Word("the pod fails") + w.inBrackets(because)
	case e.decided.Outcome != "":
		return e.decided.Words(w.Say).Outcome + w.inBrackets(because)
	}
	return ""
}

// ownReason leaves out what goes without saying: the restart policy, how often it has failed,
// and what the chain has said.
func (w words) ownReason(because lifecycle.Because, code int32) string {
	if code == 0 && because.Kind == lifecycle.BecausePolicy && because.Policy == v1.ContainerRestartPolicyAlways && because.Failed == "" {
		return w.Word("restartPolicy Always restarts what has done its work, too")
	}
	if because.Failed != "" || because.Kind != lifecycle.BecauseRule && because.Kind != lifecycle.BecauseCutOff {
		return ""
	}
	because.Nth = 0
	return because.In(w.Say)
}
