package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// conditions returns the conditions that the node owns (A-COND-1), for the calculated
// phase (the API may still show the previous one: B-FIN-3), and all others unchanged. It
// is the list before if they are the same.
func conditions(s *step, phase v1.PodPhase) []v1.PodCondition {
	var room [12]v1.PodCondition // so that the usual number of them needs no memory
	list := resizeConditions(s, phase, room[:0])
	list = ownConditions(s, phase, list)
	disruption := disruptionCondition(s, phase)
	list = append(list, disruption...)
	for i := range s.pod.Status.Conditions {
		if c := &s.pod.Status.Conditions[i]; !OwnsCondition(c.Type) && (disruption == nil || c.Type != v1.DisruptionTarget) {
			list = append(list, *c)
		}
	}
	if sameConditions(s.kept.Reported.Conditions, list) {
		return s.kept.Reported.Conditions
	}
	return slices.Clone(list)
}

// ownConditions adds those that are always there, and that of restarts of all containers.
func ownConditions(s *step, phase v1.PodPhase, list []v1.PodCondition) []v1.PodCondition {
	readyToStart := readyToStartCondition(s)
	initialized := initializedCondition(s, phase)
	containersReady := containersReadyCondition(s, phase)
	var closed []string
	if gates := s.pod.Spec.ReadinessGates; len(gates) > 0 {
		closed = closedGates(gates, append(othersConditions(s.pod.Status.Conditions), readyToStart, initialized))
	}
	first := len(list)
	list = append(list,
		readyToStart,
		initialized,
		readyCondition(containersReady, closed),
		containersReady,
		v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue},
	)
	if s.restartAll.Ever || s.restartAllRule {
		list = append(list, restartingCondition(s, phase))
	}
	generation, now := s.observedGeneration(), seconds(s.wall)
	for i := first; i < len(list); i++ {
		list[i].ObservedGeneration = generation // A-COND-11
		list[i].LastTransitionTime = now
		if old := Condition(s.kept.Reported.Conditions, list[i].Type); old != nil && old.Status == list[i].Status {
			list[i].LastTransitionTime = old.LastTransitionTime // A-COND-2
		}
	}
	return list
}

func boolStatus(b bool) v1.ConditionStatus {
	if b {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

// initializedCondition follows A-COND-4; once True it stays True.
func initializedCondition(s *step, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if phase == v1.PodSucceeded {
		c.Reason = "PodCompleted"
		return c
	}
	var room [8]string
	incomplete := room[:0]
	for _, init := range s.inits() {
		if !init.through() {
			incomplete = append(incomplete, init.spec.Name)
		}
	}
	if len(incomplete) == 0 || isTrue(s.kept.Reported.Conditions, v1.PodInitialized) || anyRegularRan(s) {
		return c
	}
	c.Status, c.Reason = v1.ConditionFalse, "ContainersNotInitialized"
	c.Message = s.derived.incomplete.after("containers with incomplete status: ", incomplete)
	return c
}

func anyRegularRan(s *step) bool {
	for i := range s.regulars() {
		if s.viewed(len(s.inits()) + i).ran() {
			return true
		}
	}
	return false
}

// containersReadyCondition follows A-COND-5: sidecars first, then regular containers.
func containersReadyCondition(s *step, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	switch phase {
	case v1.PodSucceeded:
		c.Reason = "PodCompleted"
		return c
	case v1.PodFailed:
		c.Reason = "PodFailed"
		return c
	}
	var room [8]string
	unready := room[:0]
	for _, init := range s.inits() {
		if init.kind == sidecarContainer && !init.ready() {
			unready = append(unready, init.spec.Name)
		}
	}
	for _, regular := range s.regulars() {
		if !regular.ready() {
			unready = append(unready, regular.spec.Name)
		}
	}
	if len(unready) == 0 {
		c.Status = v1.ConditionTrue
		return c
	}
	c.Reason = "ContainersNotReady"
	c.Message = s.derived.unready.after("containers with unready status: ", unready)
	return c
}

// OwnsCondition says whether the node owns a condition, so that ConditionSet cannot
// change it (A-COND-1).
func OwnsCondition(t v1.PodConditionType) bool {
	switch t {
	case v1.PodScheduled, v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady,
		v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting:
		return true
	}
	return false
}

// othersConditions returns the conditions that the node does not own, which are copied
// into the status unchanged (A-COND-1).
func othersConditions(all []v1.PodCondition) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(all), func(c v1.PodCondition) bool { return OwnsCondition(c.Type) })
}

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

// apply files a condition that others own, such as a readiness gate's
// (A-COND-7). It is stored in the machine's copy of the API object, like everything that
// the node takes from there.
func (f ConditionSet) apply(s *step) {
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
		switch c := Condition(conditions, gate.ConditionType); {
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
	ready, was := Condition(status.Conditions, v1.PodReady), Condition(s.kept.Reported.Conditions, v1.PodReady)
	if ready == nil || ready.Reason != reasonGates || (was != nil && was.Message == ready.Message) {
		return
	}
	tell(s, Report{Subject: ofPod, Kind: "waits-for-its-readiness-gates", Because: Because{Text: ready.Message}, Rule: "A-COND-6"})
}
