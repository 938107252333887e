package worker

import (
	"slices"

	"github.com/lifepod/lifepod/lifecycle"
)

// statusFirst puts a step's status, which the step derives last, before its Kubernetes Events: an event does not come
// before the status that it explains (A-EVT-7).
func statusFirst(effects []lifecycle.Effect) []lifecycle.Effect {
	event := slices.IndexFunc(effects, is[lifecycle.RecordEvent])
	status := slices.IndexFunc(effects, is[lifecycle.Publish])
	if event < 0 || status < event {
		return effects
	}
	publish := effects[status]
	return slices.Insert(slices.Delete(effects, status, status+1), event, publish)
}

func is[T lifecycle.Effect](e lifecycle.Effect) bool {
	_, is := e.(T)
	return is
}
