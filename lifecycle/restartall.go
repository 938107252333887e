package lifecycle

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// restartAll is one in-place restart of all containers of the pod (KEP-5532):
//
//	an exit's rule, or a request
//	        │
//	        ▼
//	    announcing ── AllContainersRestarting=True is published and confirmed;
//	        │         meanwhile what runs is ended, all at the same time
//	        ▼
//	    removing ──── the records go, those of the containers whose exit was the
//	        │         cause last (B-RAC-5)
//	        ▼
//	    over ──────── AllContainersRestarting=False; the init containers run again
//
// Sandbox, address, volumes, cgroup and ephemeral containers are not touched (B-RAC-8).
type restartAll struct {
	Active    bool      `json:"active,omitzero"`
	Graceful  bool      `json:"graceful,omitzero"` // requested with hooks, grace and the sidecars' order
	Because   Because   `json:"because,omitzero"`
	Announced bool      `json:"announced,omitzero"` // everybody has seen AllContainersRestarting=True
	Ever      bool      `json:"ever,omitzero"`      // there was one, so the condition stays
	NotBefore time.Time `json:"notBefore,omitzero"` // earliest start of the containers: a loop must not harm its node
	Allowance time.Time `json:"allowance,omitzero"` // when the full burst is available again

	announcing work // the confirmed Publish of AllContainersRestarting=True; made again on resume
	announce   bool // make that Publish in this step
}

// report is what Waits say of it.
func (a *restartAll) report() *Report { return &Report{Kind: KindRestartsAll, Because: a.Because} }

const (
	reasonRestartingAll  = "RestartingAllContainers"
	messageRestartingAll = "The container is removed because RestartAllContainers in place"
)

// beginRestartAll starts a restart of all containers. A request during one joins it
// (B-RAC-19).
func beginRestartAll(s *step, because Because, graceful bool) {
	if s.kept.Stage != Syncing {
		return
	}
	if s.restartAll.Active {
		joinRestartAll(s, because, graceful)
		return
	}
	s.restartAll.Active, s.restartAll.Graceful, s.restartAll.Because, s.restartAll.Ever = true, graceful, because, true
	s.restartAll.Announced, s.restartAll.announcing = false, work{}
	nextAttempt(s, because)
	for _, c := range s.containers {
		if c.restartsWithAll() {
			askImageAnew(c)
		}
	}
	tell(s, Report{Subject: ofPod, Kind: KindRestartsAll, Because: because, Rule: "B-RAC-1"})
}

// joinRestartAll files a request while a restart of all containers is under way: they become one, from
// now on without grace if the request has none (B-RAC-19).
func joinRestartAll(s *step, because Because, graceful bool) {
	report := Report{Subject: ofPod, Kind: KindRestartRequested, Outcome: thenAlready, Because: because, Rule: "B-RAC-19"}
	if s.restartAll.Graceful && !graceful {
		s.restartAll.Graceful, report.Outcome = false, "without-grace-from-now-on"
	}
	tell(s, report)
}

// planRestartAll takes it through to its end. Nothing starts while it lasts
// (A-ACT-2).
func planRestartAll(s *step) {
	if s.kept.Stage != Syncing {
		return
	}
	if c := restartAllTrigger(s); c != nil && !s.restartAll.Active {
		beginRestartAll(s, Because{}.of(c.spec.Name, c.Exit), false)
	}
	if !s.restartAll.Active {
		return
	}
	if !s.restartAll.Announced && s.restartAll.announcing.op == 0 && s.due(s.restartAll.announcing.retryAt) && !endsFirst(s) {
		s.restartAll.announce = true
	}
	endForRestartAll(s)
	if s.sandbox.State == sandboxReady && removeForRestartAll(s) {
		finishRestartAll(s)
	}
}

// endsFirst says whether it is not to be announced yet: a member of a group first ends what runs, if that
// takes but a moment, so that one status tells of the restart, the ends and its attempt (B-GRP-3). The whole
// group waits for it, and all its members write at the same time.
func endsFirst(s *step) bool {
	return s.inGroup() && s.group.Joined && s.restartAll.Active && !s.restartAll.Announced && !s.restartAll.Graceful &&
		slices.ContainsFunc(s.containers, func(c *container) bool { return c.restartsWithAll() && c.mayRun() }) &&
		!s.due(s.group.Since.Add(endsFirstMost))
}

// endsFirstMost limits that: it is the least that a kill is given (B-SIG-4), and enough where a thousand members share a machine.
const endsFirstMost = 2 * time.Second

// restartAllTrigger is a container whose exit asks for a restart of all.
func restartAllTrigger(s *step) *container {
	for _, c := range s.containers {
		if c.triggersRestartAll() {
			return c
		}
	}
	return nil
}

func (c *container) triggersRestartAll() bool { return c.Position == exited && c.Verdict.All }

// endForRestartAll ends whatever runs: at once, or as gracefully as a pod's end (B-RAC-6).
func endForRestartAll(s *step) {
	for _, c := range s.containers {
		if c.kind == ephemeralContainer || c.Position != running || c.Kill != nil && (c.Kill.Force || s.restartAll.Graceful) {
			continue
		}
		k := kill{
			Message:  "killing", // B-RAC-9
			Deadline: s.now, Force: true,
			Verdict: &verdict{Restart: true, Because: Because{Kind: becauseAll}, Rule: "B-RAC-6"},
		}
		if s.restartAll.Graceful {
			k.Deadline, k.Force = s.now.Add(s.specGrace()), false
			k.report = Report{Kind: KindStopped, Because: Because{Kind: becauseAll}, Rule: "B-RAC-6"}
		}
		killContainer(s, c, k)
	}
	if s.sandbox.State == sandboxReady {
		stopContainers(s)
	}
}

// removeForRestartAll removes every record of what has ended once everybody has seen the
// condition, those of the causes last (B-RAC-5). It reports whether none is left.
func removeForRestartAll(s *step) bool {
	if !s.restartAll.Announced {
		return false
	}
	left := false
	for _, c := range s.containers {
		if c.restartsWithAll() && !c.triggersRestartAll() && !c.mayRun() {
			removeRecords(s, c)
		}
		left = left || c.restartsWithAll() && !c.triggersRestartAll() && (c.mayRun() || c.hasRecord())
	}
	if left {
		return false
	}
	for _, c := range s.containers {
		if c.triggersRestartAll() {
			removeRecords(s, c)
			left = left || c.hasRecord()
		}
	}
	return !left
}

func (c *container) restartsWithAll() bool { return c.kind != ephemeralContainer }

// hasRecord says that the runtime still has an instance of the container.
func (c *container) hasRecord() bool {
	return c.ID != "" && !c.removal.newest.done || c.PreviousID != "" && !c.removal.previous.done
}

// removal is how far a container's instances have been removed from the runtime, by a
// restart of all containers or because the node needs space.
type removal struct {
	newest, previous work
}

func removeRecords(s *step, c *container) {
	if c.PreviousID != "" {
		removeRecord(s, c, &c.removal.previous, RemoveContainer{ContainerID: c.PreviousID, Attempt: uint32(max(c.RestartCount-1, 0))})
	}
	if c.ID != "" {
		removeRecord(s, c, &c.removal.newest, RemoveContainer{ContainerID: c.ID, Attempt: uint32(c.RestartCount)})
	}
}

// removeRecord removes one instance; its log stays (B-RAC-7).
func removeRecord(s *step, c *container, w *work, e RemoveContainer) {
	if op, ok := s.begin(w); ok {
		c.touchedAt = s.now
		e.ID, e.Container, e.KeepLog = op, c.spec.Name, true
		s.do(e)
	}
}

// apply files the answers that a restart of all containers waits for. Any other removed
// instance's record goes with the sandbox at the latest.
func (f ContainerRemoved) apply(s *step) {
	if f.Failure != nil && f.Failure.Class == NotFound {
		f.Failure = nil
	}
	for _, c := range s.containers {
		for _, w := range []*work{&c.removal.newest, &c.removal.previous} {
			if !s.finish(w, f.Result) || f.Failure == nil {
				continue
			}
			if s.restartAll.Active {
				tellRetry(s, Report{Subject: c.spec.Name, Kind: "release-failed", On: "remove container", Message: f.Failure.Message, Rule: "B-RAC-10"}, w.retryAt)
			} else {
				tell(s, Report{Subject: c.spec.Name, Kind: "keeps-a-dead-container", Because: Because{Text: f.Failure.Message}, Rule: "B-GC-3"})
			}
		}
	}
}

// apply files that everybody has seen AllContainersRestarting=True (B-RAC-23).
func (f Published) apply(s *step) {
	if !s.finish(&s.restartAll.announcing, f.Result) {
		return
	}
	if s.restartAll.Announced = f.Failure == nil; !s.restartAll.Announced {
		tellRetry(s, Report{Subject: ofPod, Kind: "release-failed", On: "publish the status", Message: f.Failure.Message, Rule: "B-RAC-23"}, s.restartAll.announcing.retryAt)
	}
}

// finishRestartAll resets every container: each that had an instance counts one restart
// (B-RAC-11, B-RAC-13), and the init containers run again, one by one (B-RAC-16).
func finishRestartAll(s *step) {
	delayNextRestartAll(s)
	for _, c := range s.containers {
		if c.restartsWithAll() {
			resetForRestartAll(s, c)
		}
	}
	s.kept.InitTurn = 0
	s.restartAll.Active, s.restartAll.Graceful, s.restartAll.Announced, s.restartAll.announcing = false, false, false, work{}
	tell(s, Report{Subject: ofPod, Kind: "is-reset", Outcome: thenStartAgain, Span: max(0, s.restartAll.NotBefore.Sub(s.now)), Rule: "B-RAC-4"})
}

func resetForRestartAll(s *step, c *container) {
	if c.ID != "" && (c.Exit != nil || c.Position == running) {
		c.Last, c.LastDone = exitForRestartAll(s, c), c.Exit != nil && c.done()
		c.RestartCount++
	}
	loops := c.triggersRestartAll() && c.Failure != nil && c.Failure.Reason == crashLoopBackOff
	if c.ID != "" && !loops {
		c.Failure = &Failure{Reason: reasonRestartingAll, Message: messageRestartingAll}
	}
	c.instance, c.PreviousID = instance{underWay: underWay{touchedAt: s.now}}, ""
	c.removal = removal{}
	c.stopping, c.RetryAt, c.Failures = stopping{}, time.Time{}, 0
	if c.Image.Refused == nil { // else it waits for the image
		c.Image.RetryAt = time.Time{}
	}
}

// exitForRestartAll is the end of an instance as lastState shows it: its own if it ended by
// itself, a made-up one if the restart ended it (B-RAC-11, B-RAC-12).
func exitForRestartAll(s *step, c *container) *v1.ContainerStateTerminated {
	if c.Exit != nil && (!c.Asked || c.triggersRestartAll()) {
		return c.Exit
	}
	t := &v1.ContainerStateTerminated{
		ExitCode: 137, Reason: reasonRestartingAll, Message: messageRestartingAll, ContainerID: containerID(&s.options, c.ID),
	}
	if c.Exit != nil {
		t.StartedAt, t.FinishedAt = c.Exit.StartedAt, c.Exit.FinishedAt
	}
	return t
}

// hasRestartAllRule says whether some container of the pod can cause it (B-RAC-3).
func hasRestartAllRule(pod *v1.Pod) bool {
	return slices.ContainsFunc(Containers(pod), func(c *v1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
			return r.Action == v1.ContainerRestartRuleActionRestartAllContainers
		})
	})
}

// restartingCondition follows B-RAC-3 and A-COND-8; a pod that is ending restarts
// nothing (B-RAC-25).
func restartingCondition(s *step, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	switch {
	case phase == v1.PodSucceeded:
		c.Reason = "PodCompleted"
	case phase == v1.PodFailed:
		c.Reason = "PodFailed"
	case s.restartAll.Active && s.kept.Stage == Syncing && !endsFirst(s):
		c.Status, c.Reason = v1.ConditionTrue, "RestartAllContainersStarted"
		c.Message = "container exited with restart policy rule"
		if restartAllTrigger(s) == nil {
			c.Message = fmt.Sprintf("restart of all containers: %s", s.restartAll.Because)
		}
	}
	return c
}

// announceRestartAll is the ID of the Publish that announces it, 0 for any other.
func announceRestartAll(s *step) EffectID {
	if !s.restartAll.announce {
		return 0
	}
	s.restartAll.announce = false
	id, _ := s.begin(&s.restartAll.announcing)
	return id
}
