package journal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/lifecycle"
)

// Line is the entry on one line, with its time since began: for people who look into the
// journal, and for tests.
func (e Entry) Line(began time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d", e.ID)
	if e.Cause != 0 {
		fmt.Fprintf(&b, " of #%d", e.Cause)
	}
	fmt.Fprintf(&b, " +%.3fs %s", e.At.Sub(began).Seconds(), e.Kind)
	for _, word := range []string{e.Name, e.subject(), e.Value, e.Image} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		fmt.Fprintf(&b, " %s=%q", key, e.Detail[key])
	}
	if e.Exit != nil {
		fmt.Fprintf(&b, " exit %d %s", e.Exit.Code, e.Exit.Reason)
	}
	if e.Failure != nil {
		fmt.Fprintf(&b, " %s %s: %s", e.Failure.Class, e.Failure.Reason, e.Failure.Message)
	}
	if text := e.Text(fmt.Sprintf); text != "" {
		b.WriteString(": " + text)
	}
	if e.Rule != "" {
		b.WriteString(" [" + e.Rule + "]")
	}
	return plain.Line(b.String())
}

// subject is the container and its instance, such as main/2.
func (e Entry) subject() string {
	if e.Container == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", e.Container, e.Attempt)
}

// Text is what was decided, in words, without its subject.
func (e Entry) Text(say lifecycle.Say) string {
	w := e.Words(say)
	w.Subject = ""
	return strings.TrimSpace(w.Line(say))
}

// Words are what was decided, in some language: of a lifepod that kept only words those, in English.
func (e Entry) Words(say lifecycle.Say) lifecycle.Words {
	if e.Report == nil {
		return lifecycle.Words{What: e.What, Outcome: e.Outcome, Because: e.Because}
	}
	return e.Report.In(say)
}
