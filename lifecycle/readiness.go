package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// started is status "started" (A-CST-12): a running container has started once its
// postStart hook and its startup probe, if any, have succeeded. Then the init container
// after a sidecar may begin (A-INIT-4).
func (c *container) started() bool {
	if c.Position != running || c.postStartPending() || c.PostStart.Failed {
		return false
	}
	return c.probeSpec(StartupProbe) == nil || c.Probes[StartupProbe].Verdict == probeSucceeded
}

// ready is status "ready" (A-CST-13).
func (c *container) ready() bool {
	switch c.kind {
	case initContainer:
		return c.done()
	case ephemeralContainer:
		return false
	}
	return c.started() && (c.probeSpec(ReadinessProbe) == nil || c.Probes[ReadinessProbe].Verdict == probeSucceeded)
}

// awaits says what a running container waits for before it is ready; empty if nothing.
func (c *container) awaits() Outcome {
	switch {
	case c.kind == initContainer || c.kind == ephemeralContainer || c.Position != running:
	case c.postStartPending():
		return "waits-for-its-postStart-hook"
	case !c.started():
		return "waits-for-its-startup-probe"
	case !c.ready():
		return "waits-for-its-readiness-probe"
	}
	return ""
}

// applyConditionSet files a condition that others own, such as a readiness gate's
// (A-COND-7). It is stored in the machine's copy of the API object, like everything that
// the node takes from there.
func applyConditionSet(s *step, f ConditionSet) {
	if OwnsCondition(f.Condition.Type) {
		return
	}
	s.changePod()
	list := &s.pod.Status.Conditions
	i := slices.IndexFunc(*list, func(c v1.PodCondition) bool { return c.Type == f.Condition.Type })
	switch {
	case f.Condition.Status == "" && i >= 0:
		*list = slices.Delete(*list, i, i+1)
	case f.Condition.Status == "":
	case i >= 0:
		(*list)[i] = *f.Condition.DeepCopy()
	default:
		*list = append(*list, *f.Condition.DeepCopy())
	}
}

// readyCondition copies ContainersReady unless it is True; then each readiness
// gate must be open as well (A-COND-6).
func readyCondition(containersReady v1.PodCondition, closedGates []string) v1.PodCondition {
	c := containersReady
	c.Type = v1.PodReady
	if c.Status == v1.ConditionTrue && len(closedGates) > 0 {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, reasonGates, strings.Join(closedGates, ", ")
	}
	return c
}

const reasonGates = "ReadinessGatesNotReady"

// closedGates says for each readiness gate that is not True what is wrong.
func closedGates(gates []v1.PodReadinessGate, conditions []v1.PodCondition) []string {
	var closed []string
	for _, gate := range gates {
		name := string(gate.ConditionType)
		switch c := condition(conditions, gate.ConditionType); {
		case c == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", name))
		case c.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", name, c.Status))
		}
	}
	return closed
}

// tellGates reports what keeps a pod from being Ready although its containers are.
func tellGates(s *step, status *v1.PodStatus) {
	ready, was := condition(status.Conditions, v1.PodReady), condition(s.kept.Reported.Conditions, v1.PodReady)
	if ready == nil || ready.Reason != reasonGates || (was != nil && was.Message == ready.Message) {
		return
	}
	tell(s, Report{Subject: ofPod, Kind: "waits-for-its-readiness-gates", Because: Because{Text: ready.Message}, Rule: "A-COND-6"})
}
