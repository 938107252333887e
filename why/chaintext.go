package why

import (
	"cmp"
	"fmt"
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
			add(decisionText(c))
		case c.Kind == journal.Answered && c.Name == "RunHook":
			add(hookText(c, e.chain[:i]))
		case c.Kind == journal.Fact && c.Name == "SandboxExited":
			add("the pod's sandbox was lost")
		}
	}
	add(stopText(e))
	add(exitText(e) + startText(e.exit) + saying(e.wrote()))
	add(outcomeText(e))
	return strings.Join(links, arrow)
}

// decisionText is what was decided before the end, in its own words or in plainer ones.
func decisionText(d journal.Entry) string {
	switch says := d.Says(); says.Kind {
	case lifecycle.KindProbeFailed:
		n := says.Because.Nth
		return fmt.Sprintf("%s probe failed %d of %d", says.On, n, n) + inBrackets(bare(says.Message))
	case lifecycle.KindHookFailed:
		return says.On + " hook failed" + inBrackets(bare(says.Message))
	case lifecycle.KindHookTimedOut:
		return "its preStop hook did not end in time"
	case lifecycle.KindRestartRequested:
		return "a restart was asked for" + inBrackets(d.Because)
	case lifecycle.KindReplaced, lifecycle.KindStopped:
		return d.Because
	case lifecycle.KindResized:
		return "its resize needs a restart" + inBrackets(d.Because)
	case lifecycle.KindUnknownState:
		return "the runtime lost track of it"
	case lifecycle.KindStopRequested:
		return "the pod's end was asked for" + inBrackets(bare(d.Because))
	case lifecycle.KindEvicted:
		return "the pod was evicted" + inBrackets(bare(d.Because))
	case lifecycle.KindEnds:
		return "the pod ended" + inBrackets(bare(d.Because))
	case lifecycle.KindRestartsAll:
		return "all containers were restarted in place" + inBrackets(bare(d.Because))
	case lifecycle.KindNoAddress, lifecycle.KindSandboxNotReady, lifecycle.KindSandboxLost:
		return "the pod's " + d.What
	default:
	}
	text := d.What + inBrackets(bare(d.Because))
	if d.Container == "" {
		return "the pod " + text
	}
	return text
}

// hookText is how a preStop hook went.
func hookText(answer journal.Entry, before []journal.Entry) string {
	for _, c := range before {
		if c.ID != answer.Cause || c.Detail["hook"] != "PreStop" {
			continue
		}
		if answer.Failure != nil {
			return "" // the decision that follows says so
		}
		return "its preStop hook ran for " + span(answer.At.Sub(c.At))
	}
	return ""
}

// stopText is how the instance was stopped; empty: it was not.
func stopText(e *ending) string {
	stop := e.begun("StopContainer")
	switch {
	case stop == nil && e.begun("StopSandbox") != nil:
		return "stopped with its sandbox"
	case stop == nil:
		return ""
	case e.decided.Says().Killed == lifecycle.KilledAtOnce, stop.Detail[journal.DetailTimeout] == "0":
		return "killed at once"
	}
	took := e.at().Sub(stop.At)
	switch {
	case e.decided.Says().Killed == lifecycle.KilledAfterGrace:
		return "killed after " + span(took) + " of grace"
	case took >= 100*time.Millisecond:
		return "stopped, ended " + span(took) + " later"
	}
	return "stopped"
}

// exitText is the exit code with what it means.
func exitText(e *ending) string {
	code, reason := e.code(), e.reason()
	text := fmt.Sprintf("exit %d", code)
	switch {
	case reason == "ContainerStatusUnknown":
		return text + ", made up: nobody knows how it ended"
	case reason != "" && reason != "Completed" && reason != "Error":
		text += " " + reason
	case code == 128+9 && !e.asked():
		text += " (SIGKILL, neither from lifepod nor for memory)"
	case code > 128 && !e.asked():
		text += inBrackets(signalName(code - 128))
	}
	return text + saying(e.message())
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

func saying(line string) string { return ifSome(`, saying "`, ifSome2(line, `"`)) }

// behindText is what was behind a container's last end: what a probe or a hook, the runtime, or its process said.
func (t *explainer) behindText(container string) string {
	all := t.endings(container)
	if len(all) == 0 {
		return ""
	}
	last := &all[len(all)-1]
	for _, c := range slices.Backward(last.chain) {
		if says := c.Says(); says.Kind == lifecycle.KindProbeFailed || says.Kind == lifecycle.KindHookFailed {
			return ifSome(": ", bare(says.Message))
		}
	}
	text := startText(last.exit) + ifSome(`; it said "`, ifSome2(cmp.Or(last.message(), last.wrote()), `"`))
	if because := last.decided.Says().Because; because.Kind == lifecycle.BecausePolicy {
		text += ifSome("; ", ownReason(because, last.code()))
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
func startText(e *journal.Exit) string {
	if e == nil || !neverBegan(e) {
		return ""
	}
	return ifSome(": ", firstLine(cri.Reason(e.Message), 300))
}

// ifSome2 is a text with what stands after it; empty if the text is.
func ifSome2(text, after string) string {
	if text == "" {
		return ""
	}
	return text + after
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
func outcomeText(e *ending) string {
	says, because := e.decided.Says(), e.decided.Because
	if e.decided.Report != nil {
		because = says.Because.String() // without how it was killed, which the chain has said
	}
	next := ordinal(e.decided.Attempt+1) + " restart"
	switch {
	case says.Later():
		return next + " after a back-off of " + span(says.Span) + inBrackets(ownReason(says.Because, e.code()))
	case says.Outcome == lifecycle.ThenRestart:
		return next + " at once" + inBrackets(ownReason(says.Because, e.code()))
	case says.Outcome == lifecycle.ThenRestartAll:
		return "all containers are restarted in place" + inBrackets(because)
	case says.Outcome == lifecycle.ThenPodFails:
		return "the pod fails" + inBrackets(because)
	case e.decided.Outcome != "":
		return e.decided.Outcome + inBrackets(because)
	}
	return ""
}

// ownReason leaves out what goes without saying: the restart policy, how often it has failed,
// and what the chain has said.
func ownReason(because lifecycle.Because, code int32) string {
	if code == 0 && because.Kind == lifecycle.BecausePolicy && because.Policy == v1.ContainerRestartPolicyAlways && because.Failed == "" {
		return "restartPolicy Always restarts what has done its work, too"
	}
	if because.Failed != "" || because.Kind != lifecycle.BecauseRule && because.Kind != lifecycle.BecauseCutOff {
		return ""
	}
	because.Nth = 0
	return because.String()
}
