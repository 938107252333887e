package lifecycle

import (
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// Report is one line of the pod's story as data: what happened to whom, what follows, and why. words.go puts it into words,
// which nothing reads but people.
type Report struct {
	Subject string `json:"-"` // a container's name, "pod", or "volume " and its name
	Kind    Kind   `json:"kind"`
	On      string `json:"on,omitzero"`      // what it is about beside the subject: an image, a probe's or a hook's name, addresses …
	Code    int32  `json:"code,omitzero"`    // of an exit
	Reason  string `json:"reason,omitzero"`  // of an exit or a failure, as a status has it
	Message string `json:"message,omitzero"` // what a runtime, a driver or a probe says

	Outcome Outcome       `json:"outcome,omitzero"`
	Span    time.Duration `json:"span,omitzero"` // until the outcome; else how long what happened took, or was to last
	Because Because       `json:"because,omitzero"`
	Killed  Killing       `json:"killed,omitzero"` // of an exit
	Rule    string        `json:"-"`               // the contract's: "A-RST-1"

	// GroupAttempt is the attempt of the pod's group that it is about (B-GRP); nil: it is about none.
	GroupAttempt *int32 `json:"groupAttempt,omitzero"`

	Again  bool `json:"-"` // part of an attempt: each further attempt reports it again until one works
	Blocks bool `json:"-"` // containers can't start before another attempt works
}

// Kind is what happened, as a word that doesn't change. Those that something is decided by have a name here.
type Kind string

// What happens to a container.
const (
	KindExited       Kind = "exited" // with Code and Reason
	KindStarted      Kind = "started"
	KindReady        Kind = "ready"
	KindProbeFailed  Kind = "probe-failed"   // so often that the container is stopped; On is which one, Message its output
	KindHookFailed   Kind = "hook-failed"    // On is which one
	KindHookTimedOut Kind = "hook-timed-out" // preStop
	KindReplaced     Kind = "is-replaced"    // by one with another image
	KindStopped      Kind = "is-stopped"     // in a restart of all
	KindResized      Kind = "is-restarted-with-its-new-resources"
	KindUnknownState Kind = "is-in-an-unknown-state"
	KindImageFailed  Kind = "image-failed"
	KindStartFailed  Kind = "start-failed"
)

// What happens to the pod. The first ones end it.
const (
	KindStopRequested    Kind = "stop-requested" // Span is the grace
	KindEvicted          Kind = "evicted"
	KindEnds             Kind = "ends"
	KindRejected         Kind = "rejected"
	KindEndedBefore      Kind = "has-ended-before"
	KindDeadlineExceeded Kind = "deadline-exceeded"
	KindRestartsAll      Kind = "restarts-all-containers-in-place"
	KindNoAddress        Kind = "sandbox-has-no-address"
	KindSandboxNotReady  Kind = "sandbox-is-not-ready-any-more"
	KindSandboxLost      Kind = "sandbox-lost"
	KindRestartRequested Kind = "restart-requested" // of a container, or of all
	KindSetupFailed      Kind = "setup-failed"
	KindSandboxFailed    Kind = "sandbox-failed"
	KindSandboxReadyAt   Kind = "sandbox-ready-at" // On are its addresses
)

// EndsPod says that the pod ends by what happened.
func (k Kind) EndsPod() bool {
	switch k {
	case KindStopRequested, KindEvicted, KindEnds, KindRejected, KindEndedBefore, KindDeadlineExceeded:
		return true
	default:
		return false
	}
}

// SignalOf is the signal that an exit code stands for; 0: none.
func SignalOf(code int32) int32 {
	if code > 128 && code <= 128+64 {
		return code - 128
	}
	return 0
}

// Outcome is what is done about it, as a word that doesn't change; empty: nothing.
type Outcome string

// What is done about it. Those that have no name here are read by people only.
const (
	ThenRestart    Outcome = "restart"   // after Span
	ThenTryAgain   Outcome = "try-again" // after Span
	ThenRestartAll Outcome = "restart-all-containers"
	ThenPodFails   Outcome = "pod-fails"
	ThenGrace      Outcome = "grace" // the pod has Span to end
	thenStartAgain Outcome = "start-again"
	thenStop       Outcome = "stop-the-container"
	thenAlready    Outcome = "all-containers-are-being-restarted-already"
)

// Later says that something is to be done once more, but not now.
func (r *Report) Later() bool {
	return r.Span > 0 && (r.Outcome == ThenRestart || r.Outcome == ThenTryAgain)
}

// Killing says that a container that was stopped did not end by itself (B-SIG-4).
type Killing string

// How a stopped container was killed.
const (
	KilledAtOnce     Killing = "at-once"
	KilledAfterGrace Killing = "when-its-grace-ran-out"
)

// Because is what decided.
type Because struct {
	Kind BecauseKind `json:"kind,omitzero"`
	// Container is whose exit, with Code and Reason, was decided about; empty: it goes without saying.
	Container string `json:"container,omitzero"`
	Code      int32  `json:"code,omitzero"`
	Reason    string `json:"reason,omitzero"`
	// Failed is the probe or hook that failed before; empty: none did.
	Failed string `json:"failed,omitzero"`
	// Policy is the restart policy; Own: the container's.
	Policy v1.ContainerRestartPolicy `json:"policy,omitzero"`
	Own    bool                      `json:"own,omitzero"`
	// Index and Rule are which of the container's restartPolicyRules it was; of BecauseMoreChanged, Index is how many more, of
	// what a group decides, which attempt.
	Index int                      `json:"index,omitzero"`
	Rule  *v1.ContainerRestartRule `json:"rule,omitzero"`
	// Nth is which failure in a row, or which restart, it was.
	Nth int32 `json:"nth,omitzero"`
	// Text is what others say or are called: a command that asked for it, an object that has changed.
	Text string `json:"text,omitzero"`
	// By is the reason behind it, of the same Index, Reason and Text; empty: none is.
	By BecauseKind `json:"by,omitzero"`
	// Lack is what the attempt of a group waits for; nil: it is no such reason.
	Lack *group.Lack `json:"lack,omitzero"`
}

// BecauseKind is a kind of reason, as a word that doesn't change; empty: Text is all there is.
type BecauseKind string

// Reasons that something is decided by.
const (
	BecausePolicy       BecauseKind = "policy"               // the restart policy
	BecauseRule         BecauseKind = "rule"                 // one of restartPolicyRules
	BecauseStopped      BecauseKind = "stopped"              // the container was to end
	BecausePodEnds      BecauseKind = "the-pod-is-stopping"  // so that nothing starts
	BecauseCutOff       BecauseKind = "cut-off"              // it never ran
	BecauseOften        BecauseKind = "often"                // Nth times in a row
	BecauseIsHere       BecauseKind = "image-is-here"        // only its policy asks a registry for it
	BecauseLatestIsHere BecauseKind = "image-latest-is-here" // its policy is that of its tag
	BecauseChanged      BecauseKind = "changed"              // objects that the pod uses, or ChangedLabels and ChangedAnnotations
	BecauseMoreChanged  BecauseKind = "more-changed"         // they, and others
	becauseRestart      BecauseKind = "restart"              // it is the Nth
	becauseAll          BecauseKind = "all-containers-restart"
	becauseEnding       BecauseKind = "it-is-ending"
	becauseSidecar      BecauseKind = "sidecar"
)

// of is the same about the exit of a container.
func (b Because) of(container string, t *v1.ContainerStateTerminated) Because {
	b.Container, b.Code, b.Reason = container, t.ExitCode, t.Reason
	return b
}

// MarshalJSON writes a reason that is a text as that text, as checkpoints before have it.
func (b Because) MarshalJSON() ([]byte, error) {
	if b == (Because{Text: b.Text}) {
		return json.Marshal(b.Text)
	}
	type plain Because
	return json.Marshal(plain(b))
}

// UnmarshalJSON reads what MarshalJSON has written.
func (b *Because) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &b.Text)
	}
	type plain Because
	return json.Unmarshal(data, (*plain)(b))
}

func tell(s *step, r Report) { s.do(Tell{Report: r}) }

// tellRetry reports a failure after which another attempt comes at that time.
func tellRetry(s *step, r Report, at time.Time) {
	r.Outcome, r.Span, r.Again = ThenTryAgain, max(0, at.Sub(s.now)), true
	tell(s, r)
}

// tellBlocked reports a failure that keeps containers from starting.
func tellBlocked(s *step, r Report, f *Failure, at time.Time) {
	r.Blocks = f.blocks()
	tellRetry(s, r, at)
}

// tellUnanswered reports a call that ended without an answer.
func tellUnanswered(s *step, r Report) {
	r.Outcome, r.Again = "see-whether-it-worked", true
	tell(s, r)
}

// blocks says whether something was refused. If the runtime is down or does not answer,
// the machine waits for it.
func (f *Failure) blocks() bool { return f.Class == Failed || f.Class == NotFound }
