package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Restart actions that Kubernetes does not have (yet): they are named in
// restartPolicyRules like its own.
const (
	// ActionTerminatePod ends the pod now, gracefully; it has failed.
	ActionTerminatePod v1.ContainerRestartRuleAction = "TerminatePod"
	// ActionComplete counts the exit as success: the container is done.
	ActionComplete v1.ContainerRestartRuleAction = "Complete"
)

// reasonMaxRestarts is the status reason of a pod that has failed because of its
// max-restarts annotation.
const reasonMaxRestarts = "MaxRestartsExceeded"

// verdict is the decision on a container's exit, made once (A-RST-4).
type verdict struct {
	Restart   bool    `json:"restart,omitzero"`
	All       bool    `json:"all,omitzero"`       // restart all containers of the pod in place (B-RAC-1)
	Complete  bool    `json:"complete,omitzero"`  // the exit counts as success, whatever its code
	Terminate bool    `json:"terminate,omitzero"` // the pod ends as failed
	Limit     bool    `json:"limit,omitzero"`     // because of max-restarts
	Because   Because `json:"because,omitzero"`
	Rule      string  `json:"rule,omitzero"`
}

// decideRestart says what follows the exit t of a container (A-RST-1, A-RST-2).
// The stage comes first: a pod that is ending starts nothing.
func decideRestart(s *step, c *container, t *v1.ContainerStateTerminated) verdict {
	if s.kept.Stage != Syncing {
		v, _ := ruleVerdict(c, t)
		return verdict{Complete: v.Complete, Because: Because{Kind: BecausePodEnds}, Rule: "A-RST-1"}
	}
	if c.kind == ephemeralContainer {
		return verdict{Because: Because{Kind: "ephemeral-containers-run-once"}, Rule: "A-RST-2"}
	}
	if v, ok := ruleVerdict(c, t); ok {
		return v
	}
	if c.kind == sidecarContainer {
		return verdict{Restart: true, Because: Because{Kind: becauseSidecar}, Rule: "A-INIT-2"}
	}
	if c.kind == initContainer && c.succeeded(t) {
		return verdict{Because: Because{Kind: "init-container-completed"}, Rule: "A-INIT-3"}
	}
	because := byPolicy(s, c)
	return verdict{Restart: restartsBy(because.Policy, c.succeeded(t)), Because: because, Rule: "A-RST-2"}
}

// byPolicy is the restart policy that applies to a container.
func byPolicy(s *step, c *container) Because {
	if c.spec.RestartPolicy == nil {
		return Because{Kind: BecausePolicy, Policy: v1.ContainerRestartPolicy(s.pod.Spec.RestartPolicy)}
	}
	return Because{Kind: BecausePolicy, Policy: *c.spec.RestartPolicy, Own: true}
}

// ruleVerdict is what the container's own restartPolicyRules say about the exit, if
// anything. An init container that succeeded runs again only if the whole pod restarts
// (A-RST-2, B-RAC-1).
func ruleVerdict(c *container, t *v1.ContainerStateTerminated) (verdict, bool) {
	if c.spec.RestartPolicy == nil {
		return verdict{}, false
	}
	i, rule := matchingRule(c.spec.RestartPolicyRules, t.ExitCode)
	if rule == nil {
		return verdict{}, false
	}
	v := verdict{Because: Because{Kind: BecauseRule, Index: i, Rule: rule}, Rule: "A-RST-1"}
	switch rule.Action {
	case v1.ContainerRestartRuleActionRestart:
		v.Restart = true
		return v, c.kind != initContainer || !c.succeeded(t)
	case v1.ContainerRestartRuleActionRestartAllContainers:
		v.Restart, v.All, v.Rule = true, true, "B-RAC-1"
	case ActionComplete:
		v.Complete = true
	case ActionTerminatePod:
		v.Terminate = true
	default: // an unknown action ends the search (A-RST-5)
		return verdict{}, false
	}
	return v, true
}

// matchingRule is the first rule whose exit codes match (A-RST-1, A-RST-5).
func matchingRule(rules []v1.ContainerRestartRule, code int32) (int, *v1.ContainerRestartRule) {
	for i := range rules {
		if matchesExitCode(rules[i].ExitCodes, code) {
			return i, &rules[i]
		}
	}
	return 0, nil
}

func matchesExitCode(on *v1.ContainerRestartRuleOnExitCodes, code int32) bool {
	if on == nil {
		return false
	}
	listed := slices.Contains(on.Values, code)
	switch on.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return listed
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !listed
	}
	return false
}

// restartsBy is the plain policy table (A-RST-2).
func restartsBy(policy v1.ContainerRestartPolicy, succeeded bool) bool {
	return policy == v1.ContainerRestartPolicyAlways || policy == v1.ContainerRestartPolicyOnFailure && !succeeded
}

// verdictAtExit is what follows an exit: what was decided when the container was killed,
// else what the exit decides. An exit code that restarts all containers counts however it
// came about (B-RAC-1), with two exceptions: an exit that a restart of all containers caused is part of
// that restart (B-RAC-19), and what somebody asked for is what happens.
func verdictAtExit(s *step, c *container, t *v1.ContainerStateTerminated) verdict {
	if c.neverRan() && s.kept.Stage == Syncing {
		c.Requested = true // it never ran: at once, and not counted
		return verdict{Restart: true, Because: Because{Kind: BecauseCutOff}, Rule: "B-RST-1"}
	}
	byExit := decideRestart(s, c, t)
	if c.Kill == nil || s.kept.Stage != Syncing {
		return limitRestarts(s, c, byExit)
	}
	c.Failure, c.Requested = c.Kill.Failure, c.Kill.Requested
	inRestartAll := s.restartAll.Active && c.Asked && c.restartsWithAll()
	switch {
	case inRestartAll:
		return verdict{Restart: true, Because: Because{Kind: becauseAll}, Rule: "B-RAC-6"}
	case c.Kill.Verdict == nil, byExit.All && !c.Requested:
		return limitRestarts(s, c, byExit)
	case c.Requested:
		return *c.Kill.Verdict
	case cameTooLate(s, c.Kill, t):
		return limitRestarts(s, c, byExit)
	}
	return limitRestarts(s, c, *c.Kill.Verdict)
}

// neverRan says whether the container's instance was never started, because lifepod was killed
// meanwhile. Ephemeral containers are not restarted for that either (A-RST-2).
func (c *container) neverRan() bool {
	return c.CutOff && c.Exit != nil && c.Exit.Reason == reasonStartError && c.kind != ephemeralContainer
}

// cameTooLate says whether the container had ended by itself before the kill was decided:
// a probe may fail because of that end before the exit is known.
func cameTooLate(s *step, k *kill, t *v1.ContainerStateTerminated) bool {
	return !t.FinishedAt.IsZero() && s.own(t.FinishedAt.Time).Before(k.Decided)
}

// planTerminatePod ends the pod when a container's exit demands it.
func planTerminatePod(s *step) {
	i := slices.IndexFunc(s.containers, func(c *container) bool { return c.Position == exited && c.Verdict.Terminate })
	if s.kept.Stage != Syncing || i < 0 {
		return
	}
	c, reason := s.containers[i], string(ActionTerminatePod)
	if c.Verdict.Limit {
		reason = reasonMaxRestarts
	}
	because := c.Verdict.Because.of(c.spec.Name, c.Exit)
	terminate(s, stop{Cause: RuleDemanded, Reason: reason, Message: "container " + because.String()}, s.specGrace(),
		Report{Kind: KindEnds, Because: because, Rule: c.Verdict.Rule})
}

// final says that a container has exited for good.
func (c *container) final() bool {
	return c.Position == exited && !c.Verdict.Restart
}

// MayRestart says whether a container that exited with that code may start again while
// its pod lives, as far as the spec tells. If any container has restartPolicyRules, every
// container may, until the pod's end.
func MayRestart(pod *v1.Pod, name string, exitCode int32) bool {
	if slices.ContainsFunc(Containers(pod), func(c *v1.Container) bool { return len(c.RestartPolicyRules) > 0 }) {
		return true
	}
	i := indexOf(pod, name)
	if i < 0 {
		return false // an ephemeral container runs once
	}
	policy := v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	switch own := Containers(pod)[i].RestartPolicy; {
	case own != nil:
		policy = *own
	case i < len(pod.Spec.InitContainers) && exitCode == 0:
		return false // it has completed
	}
	return restartsBy(policy, exitCode == 0)
}

// APIAllowsRestart says whether the API server accepts a status in which a container that
// exited with that code is no longer terminated (A-API-4).
func APIAllowsRestart(pod *v1.Pod, name string, exitCode int32) bool {
	if hasRestartAllRule(pod) {
		return true
	}
	i := indexOf(pod, name)
	if i < 0 {
		return false // an ephemeral container
	}
	c, policy := Containers(pod)[i], v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		if _, rule := matchingRule(c.RestartPolicyRules, exitCode); rule != nil {
			return true
		}
		policy = *c.RestartPolicy
	}
	return restartsBy(policy, exitCode == 0)
}

func indexOf(pod *v1.Pod, name string) int {
	return slices.IndexFunc(Containers(pod), func(c *v1.Container) bool { return c.Name == name })
}
