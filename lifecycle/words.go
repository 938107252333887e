package lifecycle

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Say is a sentence of this file in some language, with what stands in its places: fmt.Sprintf for English.
type Say func(english string, args ...any) string

// Words are a report as people read it.
type Words struct {
	Subject string
	What    string // what happened: "exited 1"
	Outcome string // what is done about it: "restart in 10s"; may be empty
	Because string // the fact that decided: "restartPolicy OnFailure, 1st failure"; may be empty
	Rule    string // the contract's rule: "A-RST-1"
}

// String is the line: `worker exited 1 → restart in 10s (restartPolicy OnFailure, 1st failure)`.
func (w Words) String() string { return w.Line(fmt.Sprintf) }

// Line is String of words in another language.
func (w Words) Line(say Say) string {
	line := w.Subject + " " + w.What
	if w.Outcome != "" {
		line += " → " + w.Outcome
	}
	if w.Because != "" {
		line += say(" (%s)", w.Because)
	}
	return line
}

// Words is the report in English.
func (r Report) Words() Words { return r.In(fmt.Sprintf) }

// In is the report in some language.
func (r Report) In(say Say) Words {
	return Words{Subject: r.Subject, What: r.what(say), Outcome: r.outcome(say), Because: r.because(say), Rule: r.Rule}
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
probe-failed: {probe} failed: {message}
probe-late: {probe} failed: {message}
probe-errored: {probe} errored: {message}
probe-not-made: {probe} was not made: {message}
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
image-latest-is-here: the image is here, but imagePullPolicy is {text}, the default for the tag latest: set IfNotPresent to use it
image-is-local: it is here as {text}: name it so
late: not counted: this machine was {text} late
readiness-failed: readiness probe failed: {text}
again: {text} again
pod-of-job-cannot-begin: a pod of {text} can't begin
another-cannot-begin: another pod can't begin
job-failed: {text} has failed: {reason}
changed: {text} changed
more-changed: {text} and {number} more changed
is-there: {text} is there
is-not-there: {text} is not there
was-deleted: {text} was deleted
is-issued: {text} is issued
was-denied: {text} was denied
is-new-in-the-group: it is new in the group
attempt-is-outdated: attempt {number} is outdated
attempt-has-begun-without-it: attempt {number} has begun without it
all-take-part-in-attempt: all members take part in attempt {number}
nothing-is-known-of-its-group: nothing is known of its group yet
attempt-begins-with-all: attempt {number} begins when all members of the group take part in it
attempt-begins-with-all-members: attempt {number} begins when all {text} members of the group take part in it
not-in-the-api: only a pod of the API can take part in a group
pods-of-group-unread: the pods of group {text} can't be read: {reason}
jobset-unread: JobSet {text} can't be read: {reason}
jobset-has-annotation: JobSet {text} has the annotation {reason}
jobset-has-strategy: JobSet {text} has failurePolicy.restartStrategy {reason}, not InPlaceRestart
request-failed: {text} failed
`

// sentence is what a kind, an outcome or a reason says: its own words, if sentences has no others.
func sentence(of string) string {
	if _, rest, has := strings.Cut(sentences, "\n"+of+": "); has {
		text, _, _ := strings.Cut(rest, "\n")
		return text
	}
	return strings.ReplaceAll(of, "-", " ")
}

func (r *Report) what(say Say) string {
	if r.Kind == KindExited {
		return exitWords(say, r.Code, r.Reason)
	}
	return r.fill(say, say(sentence(string(r.Kind))))
}

func (r *Report) fill(say Say, text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	text = strings.ReplaceAll(text, "{probe}", ProbeName(say, r.On))
	attempt := int64(0)
	if r.GroupAttempt != nil {
		attempt = int64(*r.GroupAttempt)
	}
	return strings.NewReplacer("{on}", r.On, "{reason}", r.Reason, "{message}", r.Message, "{span}", r.Span.String(), "{attempt}", strconv.FormatInt(attempt, 10)).Replace(text)
}

func (r *Report) outcome(say Say) string {
	text := r.fill(say, say(sentence(string(r.Outcome))))
	switch r.Outcome {
	case ThenRestart, ThenTryAgain, thenStartAgain:
		if r.Span <= 0 {
			return say("%s now", text)
		}
		return say("%s in %s", text, rounded(r.Span))
	default:
		return text
	}
}

func (r *Report) because(say Say) string {
	text := r.Because.In(say)
	if r.Killed != "" {
		text += say(", killed %s", say(sentence(string(r.Killed))))
	}
	return text
}

// String is the reason in English words.
func (b Because) String() string { return b.In(fmt.Sprintf) }

// In is the reason in some language.
func (b Because) In(say Say) string {
	text := b.decided(say)
	if b.Failed != "" {
		text = say("%s failed, %s", say(b.Failed), text)
	}
	if b.Container != "" {
		text = join(b.Container+" "+exitWords(say, b.Code, b.Reason), say(": "), text)
	}
	return text
}

func (b *Because) decided(say Say) string {
	switch b.Kind {
	case BecauseOften:
		if b.Nth == 1 {
			return say("once")
		}
		return say("%d times in a row", b.Nth)
	case becauseRestart:
		return say("%s restart", Ordinal(say, b.Nth))
	default:
	}
	text := b.kind(say)
	if b.Nth > 0 {
		text += say(", %s failure", Ordinal(say, b.Nth))
	}
	return text
}

func (b *Because) kind(say Say) string {
	switch b.Kind {
	case BecausePolicy:
		if b.Own {
			return say("the container's restartPolicy %s", b.Policy)
		}
		return "restartPolicy " + string(b.Policy)
	case BecauseRule:
		return say("restartPolicyRules[%d]: exit code %s %v → %s", b.Index, b.Rule.ExitCodes.Operator, b.Rule.ExitCodes.Values, b.Rule.Action)
	default:
	}
	text := say(sentence(string(b.Kind)))
	switch {
	case b.Lack != nil:
		return b.Lack.In(say)
	case b.By != "":
		by := Because{Kind: b.By, Index: b.Index, Reason: b.Reason, Text: b.Text}
		return join(text, say(": "), by.kind(say))
	case !strings.Contains(text, "{"):
		return join(text, say(": "), b.Text)
	}
	of := b.Text
	if b.Kind == BecauseChanged || b.Kind == BecauseMoreChanged {
		of = strings.NewReplacer(ChangedLabels, say(ChangedLabels), ChangedAnnotations, say(ChangedAnnotations)).Replace(of)
	}
	return strings.NewReplacer("{text}", of, "{reason}", b.Reason, "{number}", strconv.Itoa(b.Index)).Replace(text)
}

// What BecauseChanged says of the pod itself, whose other objects it names.
const (
	ChangedLabels      = "the Pod's labels"
	ChangedAnnotations = "the Pod's annotations"
)

// In is what is behind a wait, in some language; what others have said of it stays as it is.
func (w *Wait) In(say Say) string {
	r := w.Report
	switch {
	case w.For == WaitProbe && w.Probe != (ProbeProgress{}):
		return w.Probe.in(say)
	case r == nil:
		return w.Because
	case w.For == WaitRestartAll, w.For == WaitGroup:
		return r.Because.In(say)
	case w.For == WaitBackOff && r.Kind == KindExited:
		return r.what(say) + say(", ") + r.Because.In(say)
	case w.For == WaitBackOff:
		return say("all containers were restarted: %s", r.Because.In(say))
	}
	return r.what(say)
}

// in is how far a probe is and what it said: "failed 2 of 3: no database".
func (p *ProbeProgress) in(say Say) string {
	switch {
	case p.Run == 0:
		return p.Said
	case p.Failing:
		return join(say("failed %d of %d", p.Run, p.Of), say(": "), p.Said)
	}
	return join(say("succeeded %d of %d", p.Run, p.Of), say(": "), p.Said)
}

// join is two texts with something between them; either may be empty.
func join(a, between, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + between + b
}

// exitText is how an instance ended.
func exitText(t *v1.ContainerStateTerminated) string {
	return exitWords(fmt.Sprintf, t.ExitCode, t.Reason)
}

func exitWords(say Say, code int32, reason string) string {
	if reason != "" && reason != "Completed" && reason != "Error" {
		return say("exited %d %s", code, reason)
	}
	return say("exited %d", code)
}

// rounded is a time until something comes, as exact as people want it.
func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		d = d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// postStartHook is what Because calls it.
const postStartHook = "postStart hook"

// ProbeName is what a kind of probe is called.
func ProbeName(say Say, kind string) string {
	switch kind {
	case "startup":
		return say("startup probe")
	case "readiness":
		return say("readiness probe")
	}
	return say("liveness probe")
}

// Ordinal is 1st, 2nd, 3rd, 4th …
func Ordinal(say Say, n int32) string {
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			return say("%dst", n)
		case 2:
			return say("%dnd", n)
		case 3:
			return say("%drd", n)
		}
	}
	return say("%dth", n)
}
