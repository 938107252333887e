package node

import (
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/roster"
)

// census is where each pod stands, for metrics (B-WRK-26).
func (v view) census() []stats.MetricsPod {
	var list []stats.MetricsPod
	for _, view := range v.Views() {
		list = append(list, stats.MetricsPod{
			Status: &view.Pod.Status, Priority: ptr.Deref(view.Pod.Spec.Priority, 0), Static: view.Source.Static(),
			Desired: view.Wanted, Runtime: view.Source == roster.Runtime, Lifecycle: asWorker(view),
		})
	}
	return list
}

// asWorker is how far a pod has come, as the kubelet tells it of its workers.
func asWorker(view roster.View) string {
	ends := view.Pod.DeletionTimestamp != nil || lifecycle.Terminal(view.Pod.Status.Phase) || view.Source == roster.Runtime || view.Evicted
	switch view.Position {
	case roster.Over:
		return "terminated"
	case roster.Unheard, roster.Waiting:
		return ""
	case roster.Leaving:
		return "terminating"
	case roster.Looking, roster.Living, roster.Paused:
	}
	if ends {
		return "terminating"
	}
	return "sync"
}
