package publish

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// mergeConditions are everybody else's as the API has them, then the node's own
// (A-COND-1).
func mergeConditions(have, merged *v1.PodStatus, kept transitions, now time.Time) []v1.PodCondition {
	list := make([]v1.PodCondition, 0, len(have.Conditions)+len(merged.Conditions))
	for _, c := range have.Conditions {
		if !lifecycle.OwnsCondition(c.Type) {
			list = append(list, c)
		}
	}
	for _, c := range merged.Conditions {
		old := condition(have.Conditions, c.Type)
		switch {
		case lifecycle.OwnsCondition(c.Type):
			list = append(list, ownCondition(c, old, merged.Phase, kept))
		case c.Type == v1.DisruptionTarget && lifecycle.Terminal(merged.Phase) && !lifecycle.Terminal(have.Phase):
			list = replaceCondition(list, disruption(c, old, now))
		}
	}
	return list
}

// ownCondition is a condition of the node: never Ready in a terminal phase
// (B-FIN-4), with the time at which it became what it is (A-COND-2).
func ownCondition(c v1.PodCondition, old *v1.PodCondition, phase v1.PodPhase, kept transitions) v1.PodCondition {
	ready := c.Type == v1.PodReady || c.Type == v1.ContainersReady
	if ready && lifecycle.Terminal(phase) && c.Status == v1.ConditionTrue {
		c.Status, c.Message, c.Reason = v1.ConditionFalse, "", "PodFailed"
		if phase == v1.PodSucceeded {
			c.Reason = "PodCompleted"
		}
		if old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	if old != nil && c.ObservedGeneration == 0 { // the API server does not clear it
		c.ObservedGeneration = old.ObservedGeneration
	}
	c.LastTransitionTime = kept.of(c)
	return c
}

// disruption is the node's DisruptionTarget, which is sent with the terminal
// phase and not before; its time is that of the sending (A-COND-9, B-FIN-3).
func disruption(c v1.PodCondition, old *v1.PodCondition, now time.Time) v1.PodCondition {
	c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return c
}

func replaceCondition(list []v1.PodCondition, c v1.PodCondition) []v1.PodCondition {
	if old := condition(list, c.Type); old != nil {
		*old = c
		return list
	}
	return append(list, c)
}

func condition(list []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	i := slices.IndexFunc(list, func(c v1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// transitions are the conditions for which the API had the same status at the
// first comparison, and since when. A node that was just restarted, or has taken
// a pod over, may know a later time only (A-COND-2).
type transitions map[v1.PodConditionType]transition

type transition struct {
	status     v1.ConditionStatus
	reason     string // of those whose reason counts
	ours, apis metav1.Time
}

func keepTransitions(have, ours []v1.PodCondition) transitions {
	kept := transitions{}
	for _, c := range ours {
		old := condition(have, c.Type)
		if lifecycle.OwnsCondition(c.Type) && old != nil && old.Status == c.Status && reasonThatCounts(*old) == reasonThatCounts(c) {
			kept[c.Type] = transition{status: c.Status, reason: reasonThatCounts(c), ours: c.LastTransitionTime, apis: old.LastTransitionTime}
		}
	}
	return kept
}

// of is when the condition became what it is.
func (k transitions) of(c v1.PodCondition) metav1.Time {
	t, ok := k[c.Type]
	if ok && t.status == c.Status && t.reason == reasonThatCounts(c) && t.ours.Equal(&c.LastTransitionTime) {
		return t.apis
	}
	return c.LastTransitionTime
}

// reasonThatCounts is the reason of a resize condition, for which another reason
// is a transition, too.
func reasonThatCounts(c v1.PodCondition) string {
	if c.Type == v1.PodResizePending || c.Type == v1.PodResizeInProgress {
		return c.Reason
	}
	return ""
}
