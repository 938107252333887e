// Package story writes a pod's life as lifepod run and lifepod sim show it: a line of text for
// each milestone, or one JSON object per line. It is pure: where the lines go is the caller's
// business.
package story

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
)

// Line is one JSON object of -o json; fields that don't apply are left out.
type Line struct {
	Time    time.Time      `json:"time"`
	Elapsed float64        `json:"elapsedSeconds"`
	Type    string         `json:"type"`          // lifecycle, event, status, output, warning; simulation and scenario of lifepod sim
	Pod     string         `json:"pod,omitempty"` // of several: its namespace/name
	Subject string         `json:"subject,omitempty"`
	What    string         `json:"what,omitempty"`
	Outcome string         `json:"outcome,omitempty"`
	Because string         `json:"because,omitempty"`
	Rule    string         `json:"rule,omitempty"`
	Kind    lifecycle.Kind `json:"kind,omitempty"` // of a lifecycle.Report: what What is the words of
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Stream  string         `json:"stream,omitempty"`
	Text    *string        `json:"text,omitempty"`
	Status  *v1.PodStatus  `json:"status,omitempty"`
}

// Formatter writes a pod's life, from its first line to its last.
type Formatter struct {
	Began   time.Time // +0s of what is shown, by the wall clock as it is set now
	JSON    bool
	Verbose bool   // rules and Kubernetes Events as well
	Pod     string // of JSON lines; empty where there is one

	attempts attempts
}

func (t *Formatter) Encode(at time.Time, l Line) string {
	l.Pod, l.Time, l.Elapsed = t.Pod, at, at.Sub(t.Began).Round(time.Millisecond).Seconds()
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
		w := r.Words()
		return t.Encode(at, Line{Type: "lifecycle", Subject: w.Subject, Kind: r.Kind, What: w.What, Outcome: w.Outcome, Because: w.Because, Rule: w.Rule})
	}
	if t.attempts == nil {
		t.attempts = attempts{}
	}
	text := cri.Reason(t.attempts.toTell(r))
	if text == "" {
		return ""
	}
	if t.Verbose {
		text += "  [" + r.Rule + "]"
	}
	return t.Milestone(at, text)
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
		return t.Encode(at, Line{Type: "event", Subject: e.FieldPath, What: e.Type, Reason: e.Reason, Message: e.Message})
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
