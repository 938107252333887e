// Package story writes a pod's life as lifepod run and lifepod sim show it: a line of text for
// each milestone, or one JSON object per line. It is pure: where the lines go is the caller's
// business.
package story

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/lifecycle"
)

// Line is one JSON object of -o json; fields that don't apply are left out.
type Line struct {
	Version   int       `json:"version"`
	Time      time.Time `json:"time"`
	Elapsed   float64   `json:"elapsedSeconds"`
	Type      string    `json:"type"`                // lifecycle, event, status, output, warning, end; simulation and scenario of lifepod sim
	Namespace string    `json:"namespace,omitempty"` // with Name and UID: of the pod that it is about; empty: of none, or of all
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	Container string    `json:"container,omitempty"`
	Pod       string    `json:"pod,omitempty"` // of several: its namespace/name
	Subject   string    `json:"subject,omitempty"`
	What      string    `json:"what,omitempty"`
	Outcome   string    `json:"outcome,omitempty"`
	Because   string    `json:"because,omitempty"`
	Rule      string    `json:"rule,omitempty"`

	// What What, Outcome and Because say, as data.
	Kind         lifecycle.Kind    `json:"kind,omitempty"`
	ExitCode     *int32            `json:"exitCode,omitempty"`
	Signal       int32             `json:"signal,omitempty"` // that ended the process, by its exit code
	Reason       string            `json:"reason,omitempty"`
	Message      string            `json:"message,omitempty"`
	Action       lifecycle.Outcome `json:"action,omitempty"`
	DelaySeconds float64           `json:"delaySeconds,omitempty"` // until the action
	PodIP        string            `json:"podIP,omitempty"`

	Stream string        `json:"stream,omitempty"`
	Text   *string       `json:"text,omitempty"`
	Status *v1.PodStatus `json:"status,omitempty"`
}

// Formatter writes a pod's life, from its first line to its last.
type Formatter struct {
	Began   time.Time // +0s of what is shown, by the wall clock as it is set now
	JSON    bool
	Verbose bool    // rules and Kubernetes Events as well
	Explain *Rules  // what rules say when they come for the first time; nil: nothing is explained
	Of      *v1.Pod // whose life it is; nil: that of several
	Several bool    // it is one of several

	Language sentence.Language // of what is no JSON

	attempts   attempts
	milestones map[string]bool // of statuses that were told
}

// Rules are the openings of the contract's rules that have not been quoted yet.
type Rules struct {
	mu       sync.Mutex
	openings map[string]string // by number; guarded by mu
}

// NewRules are all of them.
func NewRules() (*Rules, error) {
	rules, err := contract.Rules()
	if err != nil {
		return nil, err
	}
	openings := map[string]string{}
	for _, r := range rules {
		openings[r.Number] = r.Opening
	}
	return &Rules{openings: openings}, nil
}

// quote is what a rule says, indented; empty if it was quoted before.
func (r *Rules) quote(number string) string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	opening := r.openings[number]
	if opening == "" {
		return ""
	}
	delete(r.openings, number)
	text := "    " + strings.ReplaceAll(number+"\n"+contract.Plain(opening, explainWidth), "\n", "\n    ")
	return strings.ReplaceAll(text, "\n    \n", "\n\n") + "\n"
}

const explainWidth = 76

func (t *Formatter) Encode(at time.Time, l Line) string {
	l.Version, l.Time, l.Elapsed = plain.JSONVersion, at, at.Sub(t.Began).Round(time.Millisecond).Seconds()
	if t.Of != nil {
		l.Namespace, l.Name, l.UID = t.Of.Namespace, t.Of.Name, t.Of.UID
	}
	if t.Several {
		l.Pod = l.Namespace + "/" + l.Name
	}
	if l.Container == "" && l.Subject != "pod" && !strings.ContainsAny(l.Subject, " {") { // not a volume, a Job or a field
		l.Container = l.Subject
	}
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // every field is plain data
	}
	return string(plain.JSON(data)) + "\n"
}

// Report is a line of the pod's story; empty if it was shown already. As text, a failure that
// attempts repeat is shown once.
func (t *Formatter) Report(at time.Time, r lifecycle.Report) string {
	if t.JSON {
		return t.Encode(at, lineOf(r))
	}
	if t.attempts == nil {
		t.attempts = attempts{}
	}
	text := cri.Reason(t.attempts.toTell(r, t.Language.Say))
	if text == "" {
		return ""
	}
	if t.Verbose {
		text += "  [" + r.Rule + "]"
	}
	return t.Milestone(at, text) + t.Explain.quote(r.Rule)
}

// Status is what a status tells first, which no report does: with Verbose, that the pod is Pending, and when it is Initialized.
func (t *Formatter) Status(at time.Time, s *v1.PodStatus) (text string) {
	if !t.Verbose || t.JSON {
		return ""
	}
	tell := func(holds bool, what, rule string) {
		if !holds || t.milestones[what] {
			return
		}
		if t.milestones == nil {
			t.milestones = map[string]bool{}
		}
		t.milestones[what] = true
		text += t.Milestone(at, "pod "+what+"  ["+rule+"]") + t.Explain.quote(rule)
	}
	tell(s.Phase == v1.PodPending, "Pending", "A-PHASE-5")
	for _, c := range s.Conditions {
		tell(c.Type == v1.PodInitialized && c.Status == v1.ConditionTrue, "Initialized", "A-COND-4")
	}
	return text
}

func lineOf(r lifecycle.Report) Line {
	w := r.Words()
	l := Line{
		Type: "lifecycle", Subject: w.Subject, What: w.What, Outcome: w.Outcome, Because: w.Because, Rule: w.Rule,
		Kind: r.Kind, Reason: r.Reason, Message: r.Message, Action: r.Outcome,
	}
	if r.Later() || r.Outcome == lifecycle.ThenGrace {
		l.DelaySeconds = r.Span.Seconds()
	}
	switch r.Kind {
	case lifecycle.KindExited:
		l.ExitCode, l.Signal = &r.Code, lifecycle.SignalOf(r.Code)
	case lifecycle.KindSandboxReadyAt:
		l.PodIP, _, _ = strings.Cut(r.On, ", ")
	default:
	}
	return l
}

// Milestone is a line of text: elapsed time, what, why. A message may have several, such as
// that of a probe, which has the output of its command.
func (t *Formatter) Milestone(at time.Time, text string) string {
	return fmt.Sprintf("+%.3fs %s\n", at.Sub(t.Began).Seconds(), plain.Text(plain.Line(text)))
}

// Event is a Kubernetes Event; empty if it is not to be shown.
func (t *Formatter) Event(at time.Time, e lifecycle.RecordEvent) string {
	switch {
	case t.JSON:
		_, container, _ := strings.Cut(strings.TrimSuffix(e.FieldPath, "}"), "{")
		return t.Encode(at, Line{Type: "event", Subject: e.FieldPath, Container: container, What: e.Type, Reason: e.Reason, Message: e.Message})
	case t.Verbose:
		return t.Milestone(at, fmt.Sprintf("event %s %s %s: %s", e.Type, e.Reason, cmp.Or(e.FieldPath, "pod"), e.Message))
	}
	return ""
}

// Unprefixed says whether output is shown as it is: the pod has one container only. Otherwise
// each line begins with its container's name and Separator.
func Unprefixed(pod *v1.Pod) bool {
	return len(pod.Spec.Containers)+len(pod.Spec.InitContainers) == 1
}

// Separator stands between a container's name and what it has written.
const Separator = " | "

// attempts count what is tried again until it works, such as the pull of an image:
// the same failure is reported once, not at each attempt.
type attempts map[string]map[string]int // by a report's subject and what it tells

// toTell is what to write of a report; empty if it says only that an attempt went
// as the ones before.
func (a attempts) toTell(r lifecycle.Report, say lifecycle.Say) string {
	if !r.Again {
		return r.In(say).Line(say) + a.over(r.Subject, say)
	}
	if a[r.Subject] == nil {
		a[r.Subject] = map[string]int{}
	}
	w := r.In(say)
	if a[r.Subject][w.What]++; a[r.Subject][w.What] > 1 {
		return ""
	}
	return w.Line(say)
}

// over ends a subject's attempts and says how many there were, if they were many.
func (a attempts) over(subject string, say lifecycle.Say) string {
	most := 0
	for _, n := range a[subject] {
		most = max(most, n)
	}
	delete(a, subject)
	if most < 2 {
		return ""
	}
	return say(" (after %d attempts)", most)
}
