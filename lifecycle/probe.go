package lifecycle

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// probe is the progress of one probe of an instance. It belongs to the instance, so that
// a new one starts afresh (A-PROBE-3, B-PRB-5). Verdict is kept, so that "started" and
// "ready" do not flip when lifepod comes back (B-RST-6, B-RST-8).
type probe struct {
	Next    time.Time    `json:"next,omitzero"`    // earliest next attempt
	Run     int32        `json:"run,omitzero"`     // equal results in a row
	Failing bool         `json:"failing,omitzero"` // whether those are failures
	Verdict probeVerdict `json:"verdict,omitzero"`

	attempt
}

// attempt is the attempt under way and those before it that did not count. They are lost
// with lifepod, and the attempt is made again at once.
type attempt struct {
	op       EffectID
	late     time.Duration // how late it was sent
	void     int32         // attempts in a row that did not count
	last     string        // what the last attempt said that did not succeed, as one line; empty: the last one succeeded
	reported bool          // it was reported that attempts do not count; reset when one does
}

// probeVerdict is the conclusion from enough equal results of a probe.
type probeVerdict int

const (
	probeUndecided probeVerdict = iota // liveness counts it as success, readiness as failure (A-PROBE-3)
	probeSucceeded
	probeFailed
)

func (v probeVerdict) String() string { return [...]string{"", "succeeded", "failed"}[v] }

// attempts is how often an attempt that does not count is made at once, three times in
// all (A-PROBE-7). The next one is due a period after the first.
const attempts = 3

// probeSpec is the container's probe of that kind, nil if there is none. Only
// regular containers and sidecars are probed (A-PROBE-1).
func (c *container) probeSpec(k ProbeKind) *v1.Probe {
	switch {
	case c.kind == initContainer || c.kind == ephemeralContainer:
		return nil
	case k == StartupProbe:
		return c.spec.StartupProbe
	case k == LivenessProbe:
		return c.spec.LivenessProbe
	}
	return c.spec.ReadinessProbe
}

// apply files the result of an attempt. It ignores the answer to one that was given
// up.
func (f Probed) apply(s *step) {
	c, k := s.probed(f.ID)
	if c == nil {
		return
	}
	p := &c.Probes[k]
	p.op, p.last = 0, said(f)
	switch {
	case f.Failure != nil:
		discard(s, c, k, Report{Kind: "probe-not-made", Message: f.Failure.Message})
	case f.Outcome == ProbeError:
		probeErrored(s, c, k, f.Output)
	case f.Outcome == ProbeFailure && tooLate(c.probeSpec(k), max(f.Late, p.late)):
		discard(s, c, k, Report{
			Kind: "probe-late", Message: words(f.Output),
			Because: Because{Kind: "late", Text: max(f.Late, p.late).Round(time.Millisecond).String()},
		})
	default:
		countProbe(s, c, k, f)
	}
}

// said is what an attempt that did not succeed says, as one line.
func said(f Probed) string {
	switch {
	case f.Failure != nil:
		return words(f.Failure.Message)
	case f.Outcome == ProbeFailure || f.Outcome == ProbeError:
		return words(f.Output)
	}
	return ""
}

// probed finds the probe whose attempt has that ID.
func (s *step) probed(op EffectID) (*container, ProbeKind) {
	for _, c := range s.containers {
		for k := range c.Probes {
			if op != 0 && c.Probes[k].op == op {
				return c, ProbeKind(k)
			}
		}
	}
	return nil, 0
}

// tooLate says whether a failure is lifepod's rather than the container's: lifepod itself
// used up at least half of the probe's timeout.
func tooLate(spec *v1.Probe, late time.Duration) bool {
	return late >= probeTimeout(spec)/2
}

func probeTimeout(spec *v1.Probe) time.Duration {
	return time.Duration(max(spec.TimeoutSeconds, 1)) * time.Second
}

// probeErrored files an attempt that could not be made. Three in a row give one Event,
// and count neither as success nor as failure (A-PROBE-7, A-PROBE-8).
func probeErrored(s *step, c *container, k ProbeKind, output string) {
	if c.Probes[k].void+1 == attempts {
		recordProbe(s, c, "Unhealthy", fmt.Sprintf("%s probe errored and resulted in unknown state: %s", k, output))
	}
	discard(s, c, k, Report{Kind: "probe-errored", Message: words(output)})
}

// discard does not count an attempt: it is made again at once, unless it was the last of
// three. The first is reported.
func discard(s *step, c *container, k ProbeKind, r Report) {
	p := &c.Probes[k]
	p.void++
	if !p.reported {
		p.reported = true
		r.Subject, r.On, r.Outcome, r.Rule = c.spec.Name, k.word(), "probe-again-now", "A-PROBE-7"
		tell(s, r)
	}
	p.void %= attempts
}

// countProbe files a result. Below the threshold it changes nothing (A-PROBE-2). What is being stopped can't become ready any more: a
// command whose output was held open may succeed just because its container's processes are ended (A-PROBE-19).
func countProbe(s *step, c *container, k ProbeKind, f Probed) {
	p, spec := &c.Probes[k], c.probeSpec(k)
	switch f.Outcome {
	case ProbeFailure:
		recordProbe(s, c, "Unhealthy", fmt.Sprintf("%s probe failed: %s", k, f.Output))
	case ProbeWarning:
		recordProbe(s, c, "ProbeWarning", fmt.Sprintf("%s probe warning: %s", k, f.Output))
	}
	verdict, threshold := probeSucceeded, spec.SuccessThreshold
	if f.Outcome == ProbeFailure {
		verdict, threshold = probeFailed, spec.FailureThreshold
	}
	p.void, p.reported = 0, false
	if k == ReadinessProbe && f.Outcome != ProbeFailure && p.Verdict != probeSucceeded && s.ending(c) {
		return
	}
	s.counted = p.count(f.Outcome == ProbeFailure, threshold)
	if p.Run < threshold || p.Verdict == verdict {
		return
	}
	p.Verdict = verdict
	decided(s, c, k, f.Output)
}

// count adds a result to the equal ones before it, up to the threshold; it says whether
// that changed anything.
func (p *probe) count(failing bool, threshold int32) bool {
	was := *p
	if failing != p.Failing {
		p.Run, p.Failing = 0, failing
	}
	p.Run = min(p.Run+1, threshold)
	return p.Run != was.Run || p.Failing != was.Failing
}

// decided acts on a new verdict (A-PROBE-6, A-ACT-8).
func decided(s *step, c *container, k ProbeKind, output string) {
	failed := c.Probes[k].Verdict == probeFailed
	switch {
	case failed && k != ReadinessProbe:
		killUnhealthy(s, c, k, output)
	case failed:
		tell(s, Report{Subject: c.spec.Name, Kind: "not-ready", Because: Because{Kind: "readiness-failed", Text: words(output)}, Rule: "A-CST-13"})
	case k == ReadinessProbe:
		tell(s, Report{Subject: c.spec.Name, Kind: KindReady, Because: Because{Kind: "readiness-probe-succeeded"}, Rule: "A-CST-13"})
	case k == StartupProbe:
		tell(s, Report{Subject: c.spec.Name, Kind: "has-started-up", Outcome: c.awaits(), Because: Because{Kind: "startup-probe-succeeded"}, Rule: "A-CST-12"})
	}
}

func recordProbe(s *step, c *container, reason, message string) {
	s.do(RecordEvent{Type: warning, Reason: reason, Message: message, FieldPath: c.fieldPath()})
}

// word is the kind as a sentence has it.
func (k ProbeKind) word() string { return [...]string{"startup", "liveness", "readiness"}[k] }

// words is a probe's output as part of one line of the story; the Event has it in full.
func words(output string) string {
	const most = 200
	line := strings.Join(strings.Fields(output), " ")
	if cut := []rune(line); len(cut) > most {
		line = string(cut[:most]) + "…"
	}
	return line
}

// killUnhealthy stops a container whose startup or liveness probe has failed. Its restart
// policy alone decides, now, whether it starts again: exit code rules do not apply
// (A-ACT-8, A-RST-4, A-RST-6, B-PRB-3).
func killUnhealthy(s *step, c *container, k ProbeKind, output string) {
	v := unhealthyVerdict(s, c, k)
	message := fmt.Sprintf("Container %s failed %s probe", c.spec.Name, k.word())
	if c.kind == sidecarContainer {
		message = "Init container" + message[len("Container"):] // A-INIT-2
	} else if v.Restart {
		message += ", will be restarted"
	}
	outcome := Outcome("no-restart")
	if v.Restart {
		outcome = "then-restart"
	}
	killContainer(s, c, kill{
		Message:  message,
		Deadline: s.now.Add(s.unhealthyGrace(c.probeSpec(k))),
		Verdict:  &v,
		report:   Report{Kind: KindProbeFailed, On: k.word(), Message: words(output), Outcome: outcome, Because: Because{Kind: BecauseOften, Nth: c.Probes[k].Run}, Rule: "A-ACT-8"},
	})
}

// unhealthyVerdict is the restart decision for a container that fails a probe.
func unhealthyVerdict(s *step, c *container, k ProbeKind) verdict {
	if c.kind == sidecarContainer {
		return verdict{Restart: true, Because: Because{Kind: becauseSidecar}, Rule: "A-INIT-2"}
	}
	because := byPolicy(s, c)
	because.Failed = ProbeName(fmt.Sprintf, k.word())
	return verdict{Restart: because.Policy != v1.ContainerRestartPolicyNever, Because: because, Rule: "A-ACT-8"}
}

// unhealthyGrace is the probe's own grace, which may exceed the pod's, else the pod's
// (A-PROBE-14, B-SIG-2). It also applies if nothing is left to run afterwards.
func (s *step) unhealthyGrace(spec *v1.Probe) time.Duration {
	if g := spec.TerminationGracePeriodSeconds; g != nil {
		return GraceDuration(*g)
	}
	return s.specGrace()
}

// planProbes sends the probes that are due, exactly on time: the one timer wakes the
// machine for the next (A-PROBE-2, without the random wait). It gives up an attempt if
// its container has ended or no longer needs the probe.
func planProbes(s *step) {
	for _, c := range s.containers {
		for k := range c.Probes {
			planProbe(s, c, ProbeKind(k))
		}
	}
}

func planProbe(s *step, c *container, k ProbeKind) {
	spec := c.probeSpec(k)
	if spec == nil {
		return
	}
	p := &c.Probes[k]
	if !s.probes(c, k) {
		giveUpProbe(s, p)
		return
	}
	due := c.probeDue(k)
	if p.op != 0 || !s.due(due) {
		return // attempts of one probe never overlap
	}
	if p.void == 0 { // the period counts from the start of the first attempt
		p.Next = s.now.Add(time.Duration(spec.PeriodSeconds) * time.Second)
	}
	p.op, p.late = s.nextID(), min(s.overdue, s.now.Sub(due))
	s.do(Probe{ID: p.op, Container: c.spec.Name, ContainerID: c.ID, Kind: k, PodIP: s.podIP()})
}

// probeDue is when the next attempt is due: exactly initialDelaySeconds after the process
// started (A-PROBE-4), then every period, and at once after an attempt that did not count
// (A-PROBE-7). Other conditions add no delay: the first readiness probe comes the moment
// the container becomes started (A-PROBE-6).
func (c *container) probeDue(k ProbeKind) time.Time {
	if c.Probes[k].void > 0 {
		return time.Time{}
	}
	delay := time.Duration(c.probeSpec(k).InitialDelaySeconds) * time.Second
	return later(c.Probes[k].Next, c.Since.Add(delay))
}

// probes says whether a container needs that probe now. The startup probe comes before
// the others and ends with its verdict (A-PROBE-4, A-PROBE-5). While the container or its
// pod is being stopped, only readiness matters, until the exit (A-PROBE-15, B-PRB-1,
// B-PRB-2, B-E2E-3).
func (m *Machine) probes(c *container, k ProbeKind) bool {
	if c.Position != running || c.postStartPending() || c.PostStart.Failed {
		return false
	}
	switch k {
	case StartupProbe:
		return !m.ending(c) && !c.started()
	case LivenessProbe:
		return !m.ending(c) && c.started()
	}
	return c.started()
}

// ending says whether a container or its pod is being stopped.
func (m *Machine) ending(c *container) bool {
	return m.kept.Stage != Syncing || c.Kill != nil || c.Ending
}

func giveUpProbe(s *step, p *probe) {
	if p.op != 0 {
		s.do(Cancel{ID: p.op})
		p.op, p.void = 0, 0
	}
}

// endProbes forgets the probes of an instance that has ended: their results do not hold
// for the next one (A-PROBE-3, B-RAC-17).
func endProbes(s *step, c *container) {
	for k := range c.Probes {
		giveUpProbe(s, &c.Probes[k])
		c.Probes[k] = probe{}
	}
}
