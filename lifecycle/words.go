package lifecycle

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Words are a report as people read it.
type Words struct {
	Subject string
	What    string // what happened: "exited 1"
	Outcome string // what is done about it: "restart in 10s"; may be empty
	Because string // the fact that decided: "restartPolicy OnFailure, 1st failure"; may be empty
	Rule    string // the contract's rule: "A-RST-1"
}

// String is the line: `worker exited 1 → restart in 10s (restartPolicy OnFailure, 1st failure)`.
func (w Words) String() string {
	line := w.Subject + " " + w.What
	if w.Outcome != "" {
		line += " → " + w.Outcome
	}
	if w.Because != "" {
		line += " (" + w.Because + ")"
	}
	return line
}

// Words is the report in English.
func (r Report) Words() Words {
	return Words{Subject: r.Subject, What: r.what(), Outcome: r.outcome(), Because: r.because(), Rule: r.Rule}
}

// String is the line as people read it.
func (r Report) String() string { return r.Words().String() }

// sentences are what kinds, outcomes and reasons say that say more than their own words.
const sentences = `
phase: {on}
pod-ready: Ready
pod-not-ready: not Ready
resumes: {on} resumes where it was
takes-no-ephemeral: takes no ephemeral container {on}
gets-ephemeral: gets the ephemeral container {on}
waits-for-target: waits for its target container {on}
new-image: has the image {on} from now on
volume-image: waits for the image of volume {on}
pulling: pulling image {on}
pulled: pulled image {on} in {span}
image-back-off: ImagePullBackOff
image-failed: {reason}: {message}
start-failed: {reason}: {message}
setup-failed: {message}
release-failed: {on}: {message}
sandbox-failed: Failed to create pod sandbox: {message}
sandbox-ready-at: sandbox ready, address {on}
stop-failed: error killing pod: {message}
still-runs: detected running containers after a successful KillPod, CRI violation: [{on}]
resize-failed: resize: {message}
resize-infeasible: resize infeasible: {message}
resize-deferred: resize deferred: {message}
probe-failed: {on} probe failed: {message}
probe-late: {on} probe failed: {message}
probe-errored: {on} probe errored: {message}
probe-not-made: {on} probe was not made: {message}
hook-failed: {on} hook failed: {message}
hook-timed-out: preStop hook has not ended in time
deadline-exceeded: exceeded activeDeadlineSeconds {span}
is-reset: is reset: all containers are removed
takes-part: takes part in attempt {attempt} of its group
not-saved: can't be remembered: {message}
grace: grace {span}
no-restart: stop it, no restart
then-restart: stop it, then restart
init-again: new sandbox, init containers run again
not-by-itself: {on} cannot be restarted by itself
lost-with-a-kill: it would not outlive a kill of lifepod
cut-off: its start was cut off when lifepod was killed
init-failed: init container {text} failed
image-is-here: the image is here, but imagePullPolicy is {text}: set IfNotPresent to use it
image-is-local: it is here as {text}: name it so
late: not counted: this machine was {text} late
readiness-failed: readiness probe failed: {text}
`

// sentence is what a kind, an outcome or a reason says: its own words, if sentences has no others.
func sentence(of string) string {
	if _, rest, has := strings.Cut(sentences, "\n"+of+": "); has {
		text, _, _ := strings.Cut(rest, "\n")
		return text
	}
	return strings.ReplaceAll(of, "-", " ")
}

func (r *Report) what() string {
	if r.Kind == KindExited {
		return exitWords(r.Code, r.Reason)
	}
	return r.fill(sentence(string(r.Kind)))
}

func (r *Report) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	attempt := int64(0)
	if r.GroupAttempt != nil {
		attempt = int64(*r.GroupAttempt)
	}
	return strings.NewReplacer("{on}", r.On, "{reason}", r.Reason, "{message}", r.Message, "{span}", r.Span.String(), "{attempt}", strconv.FormatInt(attempt, 10)).Replace(text)
}

func (r *Report) outcome() string {
	text := r.fill(sentence(string(r.Outcome)))
	switch r.Outcome {
	case ThenRestart, ThenTryAgain, thenStartAgain:
		return text + " " + in(r.Span)
	default:
		return text
	}
}

func (r *Report) because() string {
	text := r.Because.String()
	if r.Killed != "" {
		text += ", killed " + sentence(string(r.Killed))
	}
	return text
}

// String is the reason in words.
func (b Because) String() string {
	text := b.decided()
	if b.Failed != "" {
		text = b.Failed + " failed, " + text
	}
	if b.Container != "" {
		text = join(b.Container+" "+exitWords(b.Code, b.Reason), ": ", text)
	}
	return text
}

func (b *Because) decided() string {
	switch b.Kind {
	case BecauseOften:
		if b.Nth == 1 {
			return "once"
		}
		return fmt.Sprintf("%d times in a row", b.Nth)
	case becauseRestart:
		return ordinal(b.Nth) + " restart"
	default:
	}
	text := b.kind()
	if b.Nth > 0 {
		text += ", " + ordinal(b.Nth) + " failure"
	}
	return text
}

func (b *Because) kind() string {
	switch b.Kind {
	case BecausePolicy:
		if b.Own {
			return "the container's restartPolicy " + string(b.Policy)
		}
		return "restartPolicy " + string(b.Policy)
	case BecauseRule:
		return fmt.Sprintf("restartPolicyRules[%d]: exit code %s %v → %s", b.Index, b.Rule.ExitCodes.Operator, b.Rule.ExitCodes.Values, b.Rule.Action)
	default:
	}
	if text := sentence(string(b.Kind)); strings.Contains(text, "{text}") {
		return strings.ReplaceAll(text, "{text}", b.Text)
	}
	return join(sentence(string(b.Kind)), ": ", b.Text)
}

// String is how far a probe is and what it said, in words: "failed 2 of 3: no database".
func (p *ProbeProgress) String() string {
	if p.Run == 0 {
		return p.Said
	}
	result := "succeeded"
	if p.Failing {
		result = "failed"
	}
	return join(fmt.Sprintf("%s %d of %d", result, p.Run, p.Of), ": ", p.Said)
}

// join is two texts with something between them; either may be empty.
func join(a, between, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + between + b
}

// exitText is how an instance ended.
func exitText(t *v1.ContainerStateTerminated) string { return exitWords(t.ExitCode, t.Reason) }

func exitWords(code int32, reason string) string {
	text := "exited " + strconv.Itoa(int(code))
	if reason != "" && reason != "Completed" && reason != "Error" {
		text += " " + reason
	}
	return text
}

// in says when something comes: "now", "in 10s".
func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	if d > time.Second {
		d = d.Round(time.Second)
	}
	return "in " + d.Round(time.Millisecond).String()
}

// ordinal is 1st, 2nd, 3rd, 4th …
func ordinal(n int32) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
