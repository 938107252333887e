package lifecycle

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// round is one in-place restart of all containers of the pod (KEP-5532):
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
type round struct {
	Active    bool      `json:"active,omitzero"`
	Graceful  bool      `json:"graceful,omitzero"` // requested with hooks, grace and the sidecars' order
	Because   Because   `json:"because,omitzero"`
	Announced bool      `json:"announced,omitzero"` // everybody has seen AllContainersRestarting=True
	Ever      bool      `json:"ever,omitzero"`      // there was a round, so the condition stays
	NotBefore time.Time `json:"notBefore,omitzero"` // earliest start of the containers: a loop must not harm its node
	Allowance time.Time `json:"allowance,omitzero"` // when the full burst is available again

	announcing work // the confirmed Publish of AllContainersRestarting=True; made again on resume
	announce   bool // make that Publish in this step
}

const (
	reasonRestartingAll  = "RestartingAllContainers"
	messageRestartingAll = "The container is removed because RestartAllContainers in place"
)

// beginRound starts a restart of all containers. A request during a round joins it
// (B-RAC-19).
func beginRound(s *step, because Because, graceful bool) {
	if s.kept.Stage != Syncing {
		return
	}
	if s.round.Active {
		hurryRound(s, because, graceful)
		return
	}
	s.round.Active, s.round.Graceful, s.round.Because, s.round.Ever = true, graceful, because, true
	s.round.Announced, s.round.announcing = false, work{}
	nextAttempt(s, because)
	for _, c := range s.containers {
		if c.takesPartInRound() {
			askImageAnew(c)
		}
	}
	tell(s, Report{Subject: ofPod, Kind: KindRestartsAll, Because: because, Rule: "B-RAC-1"})
}

// hurryRound files a request for a round while one is under way: they become one, from
// now on without grace if the request has none (B-RAC-19).
func hurryRound(s *step, because Because, graceful bool) {
	report := Report{Subject: ofPod, Kind: KindRestartRequested, Outcome: thenAlready, Because: because, Rule: "B-RAC-19"}
	if s.round.Graceful && !graceful {
		s.round.Graceful, report.Outcome = false, "without-grace-from-now-on"
	}
	tell(s, report)
}

// planRestartAll takes a round through to its end. Nothing starts while it lasts
// (A-ACT-2).
func planRestartAll(s *step) {
	if s.kept.Stage != Syncing {
		return
	}
	if c := roundTrigger(s); c != nil && !s.round.Active {
		beginRound(s, Because{}.of(c.spec.Name, c.Exit), false)
	}
	if !s.round.Active {
		return
	}
	if !s.round.Announced && s.round.announcing.op == 0 && s.due(s.round.announcing.retryAt) && !endsFirst(s) {
		s.round.announce = true
	}
	endForRound(s)
	if s.sandbox.State == sandboxReady && removeForRound(s) {
		finishRound(s)
	}
}

// endsFirst says whether a round is not to be announced yet: a member of a group first ends what runs, if that
// takes but a moment, so that one status tells of the restart, the ends and its attempt (B-GRP-3). The whole
// group waits for it, and all its members write at the same time.
func endsFirst(s *step) bool {
	return s.inGroup() && s.group.Joined && s.round.Active && !s.round.Announced && !s.round.Graceful &&
		slices.ContainsFunc(s.containers, func(c *container) bool { return c.takesPartInRound() && c.mayRun() }) &&
		!s.due(s.group.Since.Add(endsFirstMost))
}

// endsFirstMost is for how long: what a kill is given at least (B-SIG-4), and takes where a thousand members share a machine.
const endsFirstMost = 2 * time.Second

// roundTrigger is a container whose exit asks for a restart of all.
func roundTrigger(s *step) *container {
	for _, c := range s.containers {
		if c.triggersRound() {
			return c
		}
	}
	return nil
}

func (c *container) triggersRound() bool { return c.Position == exited && c.Verdict.All }

// endForRound ends whatever runs: at once, or as gracefully as a pod's end (B-RAC-6).
func endForRound(s *step) {
	for _, c := range s.containers {
		if c.kind == ephemeralContainer || c.Position != running || c.Kill != nil && (c.Kill.Force || s.round.Graceful) {
			continue
		}
		k := kill{
			Message:  "killing", // B-RAC-9
			Deadline: s.now, Force: true,
			Verdict: &verdict{Restart: true, Because: Because{Kind: becauseAll}, Rule: "B-RAC-6"},
		}
		if s.round.Graceful {
			k.Deadline, k.Force = s.now.Add(s.specGrace()), false
			k.report = Report{Kind: KindStopped, Because: Because{Kind: becauseAll}, Rule: "B-RAC-6"}
		}
		killContainer(s, c, k)
	}
	if s.sandbox.State == sandboxReady {
		stopContainers(s)
	}
}

// removeForRound removes every record of what has ended once everybody has seen the
// condition, those of the causes last (B-RAC-5). It reports whether none is left.
func removeForRound(s *step) bool {
	if !s.round.Announced {
		return false
	}
	left := false
	for _, c := range s.containers {
		if c.takesPartInRound() && !c.triggersRound() && !c.mayRun() {
			removeRecords(s, c)
		}
		left = left || c.takesPartInRound() && !c.triggersRound() && (c.mayRun() || c.hasRecord())
	}
	if left {
		return false
	}
	for _, c := range s.containers {
		if c.triggersRound() {
			removeRecords(s, c)
			left = left || c.hasRecord()
		}
	}
	return !left
}

func (c *container) takesPartInRound() bool { return c.kind != ephemeralContainer }

// hasRecord says that the runtime still has an instance of the container.
func (c *container) hasRecord() bool {
	return c.ID != "" && !c.removal.newest.done || c.PreviousID != "" && !c.removal.previous.done
}

// removal is how far a container's instances have been removed from the runtime, by a
// round or because the node needs space.
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

// applyContainerRemoved files the answers that a round waits for. Any other removed
// instance's record goes with the sandbox at the latest.
func applyContainerRemoved(s *step, f ContainerRemoved) {
	if f.Failure != nil && f.Failure.Class == NotFound {
		f.Failure = nil
	}
	for _, c := range s.containers {
		for _, w := range []*work{&c.removal.newest, &c.removal.previous} {
			if !s.finish(w, f.Result) || f.Failure == nil {
				continue
			}
			if s.round.Active {
				tellRetry(s, Report{Subject: c.spec.Name, Kind: "release-failed", On: "remove container", Message: f.Failure.Message, Rule: "B-RAC-10"}, w.retryAt)
			} else {
				tell(s, Report{Subject: c.spec.Name, Kind: "keeps-a-dead-container", Because: Because{Text: f.Failure.Message}, Rule: "B-GC-3"})
			}
		}
	}
}

// applyPublished files that everybody has seen AllContainersRestarting=True (B-RAC-23).
func applyPublished(s *step, f Published) {
	if !s.finish(&s.round.announcing, f.Result) {
		return
	}
	if s.round.Announced = f.Failure == nil; !s.round.Announced {
		tellRetry(s, Report{Subject: ofPod, Kind: "release-failed", On: "publish the status", Message: f.Failure.Message, Rule: "B-RAC-23"}, s.round.announcing.retryAt)
	}
}

// finishRound resets every container: each that had an instance counts one restart
// (B-RAC-11, B-RAC-13), and the init containers take their turns again (B-RAC-16).
func finishRound(s *step) {
	delayNextRound(s)
	for _, c := range s.containers {
		if c.takesPartInRound() {
			resetForRound(s, c)
		}
	}
	s.kept.InitTurn = 0
	s.round.Active, s.round.Graceful, s.round.Announced, s.round.announcing = false, false, false, work{}
	tell(s, Report{Subject: ofPod, Kind: "is-reset", Outcome: thenStartAgain, Span: max(0, s.round.NotBefore.Sub(s.now)), Rule: "B-RAC-4"})
}

func resetForRound(s *step, c *container) {
	if c.ID != "" && (c.Exit != nil || c.Position == running) {
		c.Last, c.LastDone = exitForRound(s, c), c.Exit != nil && c.done()
		c.RestartCount++
	}
	loops := c.triggersRound() && c.Failure != nil && c.Failure.Reason == crashLoopBackOff
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

// exitForRound is the end of an instance as lastState shows it: its own if it ended by
// itself, a made-up one if the round ended it (B-RAC-11, B-RAC-12).
func exitForRound(s *step, c *container) *v1.ContainerStateTerminated {
	if c.Exit != nil && (!c.Asked || c.triggersRound()) {
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

// hasRestartAllRule says whether some container of the pod can cause a round (B-RAC-3).
func hasRestartAllRule(pod *v1.Pod) bool {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if slices.ContainsFunc(list[i].RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
				return r.Action == v1.ContainerRestartRuleActionRestartAllContainers
			}) {
				return true
			}
		}
	}
	return false
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
	case s.round.Active && s.kept.Stage == Syncing && !endsFirst(s):
		c.Status, c.Reason = v1.ConditionTrue, "RestartAllContainersStarted"
		c.Message = "container exited with restart policy rule"
		if roundTrigger(s) == nil {
			c.Message = fmt.Sprintf("restart of all containers: %s", s.round.Because)
		}
	}
	return c
}

// announceRound is the ID of the Publish that announces a round, 0 for any other.
func announceRound(s *step) EffectID {
	if !s.round.announce {
		return 0
	}
	s.round.announce = false
	id, _ := s.begin(&s.round.announcing)
	return id
}
