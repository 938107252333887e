package lifecycle

import (
	"fmt"
	"time"
)

// Report is one line of the pod's story: what happened to whom, what follows, and why.
type Report struct {
	Subject string // a container's name, or "pod"
	What    string // what happened: "exited 1"
	Outcome string // what is done about it: "restart in 10s"; may be empty
	Because string // the fact that decided: "restartPolicy OnFailure, 1st failure"; may be empty
	Rule    string // the contract's rule: "A-RST-1"

	// GroupAttempt is the attempt of the pod's group that it is about (B-GRP); nil: it is about none.
	GroupAttempt *int32

	Again  bool // part of an attempt: each further attempt reports it again until one works
	Blocks bool // containers can't start before another attempt works
}

// String is the line as people read it: `worker exited 1 → restart in 10s (restartPolicy OnFailure, 1st failure)`.
func (r Report) String() string {
	line := r.Subject + " " + r.What
	if r.Outcome != "" {
		line += " → " + r.Outcome
	}
	if r.Because != "" {
		line += " (" + r.Because + ")"
	}
	return line
}

func tell(s *step, r Report) { s.do(Tell{Report: r}) }

func tellRetry(s *step, subject, what string, at time.Time, rule string) {
	tell(s, retryReport(s, subject, what, at, rule))
}

// tellBlocked reports a failure that keeps containers from starting.
func tellBlocked(s *step, subject string, f *Failure, what string, at time.Time, rule string) {
	r := retryReport(s, subject, what, at, rule)
	r.Blocks = f.blocks()
	tell(s, r)
}

// tellUnanswered reports a call that ended without an answer.
func tellUnanswered(s *step, subject, what, rule string) {
	tell(s, Report{Subject: subject, What: what, Outcome: "see whether it worked", Rule: rule, Again: true})
}

// blocks says whether something was refused. If the runtime is down or does not answer,
// the machine waits for it.
func (f *Failure) blocks() bool { return f.Class == Failed || f.Class == NotFound }

func retryReport(s *step, subject, what string, at time.Time, rule string) Report {
	return Report{Subject: subject, What: what, Outcome: "try again " + in(at.Sub(s.now)), Rule: rule, Again: true}
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
