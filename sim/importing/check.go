package importing

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim"
)

// check simulates the pod, and notes where it comes to another end than with the Stages: lifepod restarts containers, and
// makes phase and conditions of what they do, by Kubernetes' rules, whatever a Stage says.
func (l *life) check(pod *v1.Pod) {
	n := len(l.way.Taken)
	if n == 0 || l.way.Deleted() {
		return
	}
	lived := sim.Run(pod, sim.Options{Scenario: l.scenario, Seed: 1, For: max(time.Hour, 2*total(l.way.Taken).Most)})
	wasReady := false
	for i := range l.way.Taken {
		wasReady = wasReady || conditionOf(l.way.Taken[i].Pod, v1.PodReady) == v1.ConditionTrue
	}
	if _, ready := lived.ReadyAt(); ready != wasReady {
		is := map[bool]string{true: "Ready at some time", false: "never Ready"}
		l.notes.OfStatus(l.stage(n), "the pod is %s with the Stages, and %s with this scenario", is[wasReady], is[ready])
	}
	if want, is := l.way.Pod().Status.Phase, lived.Phase(); !l.way.Repeats && want != is {
		l.notes.OfStatus(l.stage(n), "the pod is %s in the end with the Stages, and %s with this scenario (restartPolicy %s)", want, is, pod.Spec.RestartPolicy)
	}
}
