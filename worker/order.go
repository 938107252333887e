package worker

import (
	"cmp"
	"slices"

	"github.com/lifepod/lifepod/lifecycle"
)

// eventsLast puts a step's Kubernetes Events behind its status, which the step derives after them: an event does not
// come before the status that it explains (A-EVT-7).
func eventsLast(effects []lifecycle.Effect) []lifecycle.Effect {
	slices.SortStableFunc(effects, func(a, b lifecycle.Effect) int { return cmp.Compare(eventsRank(a), eventsRank(b)) })
	return effects
}

func eventsRank(e lifecycle.Effect) int {
	if _, isEvent := e.(lifecycle.RecordEvent); isEvent {
		return 1
	}
	return 0
}
