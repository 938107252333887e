package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// room is what the node has for the pod's next resources.
type room struct {
	from  time.Duration // from when on it has room
	never string        // why it never has; empty: it has
}

// resizes has somebody ask for other resources (A-ACT-15). The node's answer is the scenario's, until the next resize.
func resizes(w *world, r *scenario.Resize) {
	w.calls.room = room{never: r.Infeasible}
	if wait := r.Deferred.Draw(w.dice, 0); wait > 0 {
		w.calls.room.from = w.now + wait
		w.after(wait, func() { w.feed(lifecycle.RoomFreed{}) }) // an agent that comes back later asks for room by itself
	}
	asked(w, "resize requested", theScenario, func() { w.feed(requestOf(w.agent.machine.RequestedPod(), r)) })
}

// requestOf is what a resize asks for: what it doesn't say stays as it is.
func requestOf(pod *v1.Pod, r *scenario.Resize) (f lifecycle.ResizeRequested) {
	merged := func(has v1.ResourceRequirements) v1.ResourceRequirements {
		has.Requests, has.Limits = with(has.Requests, r.Requests), with(has.Limits, r.Limits)
		return has
	}
	if r.Container == "" {
		own := merged(*cmp.Or(pod.Spec.Resources, &v1.ResourceRequirements{}))
		f.Pod = &own
		return f
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == r.Container {
			f.Containers = append(f.Containers, lifecycle.ContainerResources{Name: c.Name, Resources: merged(c.Resources)})
		}
	}
	return f
}

func with(has, other v1.ResourceList) v1.ResourceList {
	if len(other) == 0 {
		return has
	}
	all := maps.Clone(has)
	if all == nil {
		all = v1.ResourceList{}
	}
	maps.Copy(all, other)
	return all
}

// admitResize says whether the node has room.
func admitResize(w *world, e lifecycle.AdmitResize) lifecycle.Fact {
	answer := lifecycle.ResizeAdmitted{Result: lifecycle.Result{ID: e.ID}}
	switch {
	case w.calls.room.never != "":
		answer.Reason, answer.Message = v1.PodReasonInfeasible, w.calls.room.never
	case w.now < w.calls.room.from:
		answer.Reason, answer.Message = v1.PodReasonDeferred, "Node didn't have enough resource"
	}
	return answer
}

// resizeContainer gives an instance other resources. If the scenario doesn't say what it uses, it uses what it requests.
func resizeContainer(w *world, e lifecycle.ResizeContainer) lifecycle.Fact {
	if c := w.runtime.container(e.ContainerID); c != nil && len(c.run.Usage) == 0 {
		says := &scenario.Usage{}
		if cpu, has := e.Resources.Requests[v1.ResourceCPU]; has {
			says.CPU = &cpu
		}
		if memory, has := e.Resources.Requests[v1.ResourceMemory]; has {
			says.Memory = &memory
		}
		c.drawn.uses = append(c.drawn.uses, level{w.now - c.began, says})
	}
	return lifecycle.AnswerTo(e, nil)
}
