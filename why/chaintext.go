package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/journal"
)

// arrow is between the links of a chain.
const arrow = " → "

// chainText is the whole chain of an end in one line, without its subject:
//
//	liveness probe failed 3 of 3 (HTTP probe failed with statuscode: 503) → killed after 2 s of grace → exit 137 → 2nd restart after a back-off of 20 s
func (t *teller) chainText(e *ending) string {
	var links []string
	add := func(link string) {
		if link != "" && (len(links) == 0 || links[len(links)-1] != link) {
			links = append(links, link)
		}
	}
	for i, c := range e.chain {
		switch {
		case isExit(c):
		case c.Kind == journal.Decided:
			add(decisionText(c, e.chain[:i]))
		case c.Kind == journal.Answered && c.Name == "RunHook":
			add(hookText(c, e.chain[:i]))
		case c.Kind == journal.Fact && c.Name == "SandboxExited":
			add("the pod's sandbox was lost")
		}
	}
	add(stopText(e))
	add(exitText(e) + startText(e.exit))
	add(outcomeText(e))
	return strings.Join(links, arrow)
}

// decisionText is what was decided before the end, in its own words or in plainer ones.
func decisionText(d journal.Entry, before []journal.Entry) string {
	what, output, _ := strings.Cut(d.What, ": ")
	switch {
	case strings.HasSuffix(what, " probe failed"):
		return what + countText(d, before) + inBrackets(bare(output))
	case strings.HasSuffix(what, " hook failed"):
		return what + inBrackets(bare(output))
	case d.What == hookTimedOut:
		return "its preStop hook did not end in time"
	case d.What == "restart requested":
		return "a restart was asked for" + inBrackets(d.Because)
	case d.What == "is replaced", d.What == "is stopped":
		return d.Because
	case d.What == "is restarted with its new resources":
		return "its resize needs a restart" + inBrackets(d.Because)
	case d.What == "is in an unknown state":
		return "the runtime lost track of it"
	case d.Container == "":
		return podDecisionText(d)
	}
	return d.What + inBrackets(d.Because)
}

// podDecisionText is a decision about the pod as a link of a container's chain.
func podDecisionText(d journal.Entry) string {
	because := inBrackets(bare(d.Because))
	switch {
	case d.What == stopRequested:
		return "the pod's end was asked for" + because
	case d.What == "evicted":
		return "the pod was evicted" + because
	case d.What == "ends":
		return "the pod ended" + because
	case strings.HasPrefix(d.What, exceededDeadline):
		return "the pod " + d.What
	case d.What == "restarts all containers in place":
		return "all containers were restarted in place" + because
	case strings.HasPrefix(d.What, "sandbox "):
		return "the pod's " + d.What
	}
	return "the pod " + d.What + because
}

// countText is how often a probe had failed: as often as it may.
func countText(d journal.Entry, before []journal.Entry) string {
	for _, c := range slices.Backward(before) {
		if n := c.Detail["failures"]; c.Name == "Probed" && n != "" {
			return " " + n + " of " + n
		}
	}
	if n, found := strings.CutSuffix(d.Because, " times in a row"); found {
		return " " + n + " of " + n
	}
	return ""
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
	case strings.HasSuffix(e.decided.Because, ", killed at once"), stop.Detail["timeout"] == "0":
		return "killed at once"
	}
	took := e.at().Sub(stop.At)
	switch {
	case strings.HasSuffix(e.decided.Because, ", killed when its grace ran out"):
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
	if e.exit != nil && !neverBegan(e.exit) {
		text += ifSome(`, saying "`, ifSome2(firstLine(e.exit.Message, 120), `"`))
	}
	return text
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
	because := e.decided.Because
	for _, how := range []string{", killed at once", ", killed when its grace ran out"} {
		because = strings.TrimSuffix(because, how)
	}
	next := ordinal(e.decided.Attempt+1) + " restart"
	switch outcome := e.decided.Outcome; {
	case outcome == "restart now":
		return next + " at once" + inBrackets(ownReason(because))
	case strings.HasPrefix(outcome, "restart in "):
		delay, err := time.ParseDuration(strings.TrimPrefix(outcome, "restart in "))
		if err != nil {
			return outcome
		}
		return next + " after a back-off of " + span(delay) + inBrackets(ownReason(because))
	case outcome == "restart all containers":
		return "all containers are restarted in place" + inBrackets(because)
	case outcome == "pod fails":
		return "the pod fails" + inBrackets(because)
	case outcome != "":
		return outcome + inBrackets(because)
	}
	return ""
}

// ownReason leaves out what goes without saying: the restart policy, how often it has failed,
// and what the chain has said.
func ownReason(because string) string {
	if i := strings.LastIndex(because, ", "); i >= 0 && strings.HasSuffix(because, " failure") {
		because = because[:i]
	}
	if strings.HasPrefix(because, "restartPolicyRules") || strings.HasPrefix(because, "its start was cut off") {
		return because
	}
	return ""
}
