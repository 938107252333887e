package importing

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/sim/importing/stages"
)

// history is what happens to a container, as its statuses have it.
type history struct {
	instances []*instance
	pull      *failure // of its image
	create    *failure // of the container
	waits     string   // why it does not run, at the end
}

// failure keeps a container from its start.
type failure struct {
	at      int // after so many Stages
	reason  string
	message string
}

// instance is one run of a container. Times are numbers of Stages.
type instance struct {
	from, to   int
	restarts   int32
	ended      bool
	end        v1.ContainerStateTerminated
	startError string
	ready      []readiness
}

// readiness is from when on an instance is ready, or is not.
type readiness struct {
	at    int
	ready bool
}

// running is the instance that runs; nil: none does.
func (h *history) running() *instance {
	if n := len(h.instances); n > 0 && !h.instances[n-1].ended {
		return h.instances[n-1]
	}
	return nil
}

// begunBy says whether an instance has begun after so many Stages.
func (h *history) begunBy(at int) bool {
	return slices.ContainsFunc(h.instances, func(i *instance) bool { return i.from <= at })
}

// failedBy says whether an instance has failed after so many Stages.
func (h *history) failedBy(at int) bool {
	return slices.ContainsFunc(h.instances, func(i *instance) bool {
		return i.ended && i.to <= at && (i.end.ExitCode != 0 || i.startError != "")
	})
}

// begin files that an instance begins.
func (h *history) begin(at int, restarts int32) *instance {
	i := &instance{from: at, restarts: restarts}
	h.instances = append(h.instances, i)
	return i
}

// ends files that the running instance ends, or that one has begun and ended at the same time. One that has ended before
// does so once only.
func (h *history) ends(at int, restarts int32, as *v1.ContainerStateTerminated) {
	i := h.running()
	if i == nil {
		if n := len(h.instances); n > 0 && h.instances[n-1].restarts >= restarts {
			return
		}
		i = h.begin(at, restarts)
	}
	i.to, i.ended = at, true
	i.end = v1.ContainerStateTerminated{ExitCode: 1}
	if as != nil {
		i.end = *as
	}
}

// historyOf is what the Stages do to a container.
func (l *life) historyOf(name string) *history {
	h := &history{}
	for i := range l.way.Taken {
		t := &l.way.Taken[i]
		status := statusOf(t.Pod, name)
		if status == nil {
			continue
		}
		h.see(i+1, status)
		if status.State.Waiting != nil && h.running() != nil {
			l.notes.OfStatus(t.Stage, "%s ran and waits again (%s) without having ended: it runs on", name, cmp.Or(status.State.Waiting.Reason, "no reason"))
		}
		h.look(i+1, t.Pod, status)
	}
	return h
}

// see files what a status says after so many Stages.
func (h *history) see(at int, status *v1.ContainerStatus) {
	switch s := &status.State; {
	case s.Running != nil:
		if i := h.running(); i != nil && status.RestartCount > i.restarts {
			h.ends(at, i.restarts, status.LastTerminationState.Terminated)
		}
		if h.running() == nil {
			h.begin(at, status.RestartCount)
		}
	case s.Terminated != nil:
		h.ends(at, status.RestartCount, s.Terminated)
	case s.Waiting != nil:
		h.waiting(at, status)
	}
}

func (h *history) waiting(at int, status *v1.ContainerStatus) {
	reason, message := status.State.Waiting.Reason, cmp.Or(status.State.Waiting.Message, status.State.Waiting.Reason)
	last := status.LastTerminationState.Terminated
	h.waits = reason
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
		if h.pull == nil {
			h.pull = &failure{at, reason, message}
		}
	case "CreateContainerError", "CreateContainerConfigError":
		if h.create == nil {
			h.create = &failure{at, reason, message}
		}
	case "RunContainerError":
		if h.running() == nil {
			h.begin(at, status.RestartCount)
		}
		i := h.running()
		i.to, i.ended, i.startError = at, true, message
	case "CrashLoopBackOff":
		if h.running() != nil || len(h.instances) == 0 {
			h.ends(at, status.RestartCount, last)
		}
	default:
		if h.running() != nil && last != nil {
			h.ends(at, h.running().restarts, last)
		}
	}
}

// look files whether the running instance is ready. The pod's condition counts if it says otherwise than containers that
// are all ready.
func (h *history) look(at int, pod *v1.Pod, status *v1.ContainerStatus) {
	i := h.running()
	if i == nil {
		return
	}
	ready := status.Ready && (!allReady(pod) || conditionOf(pod, v1.PodReady) != v1.ConditionFalse)
	if n := len(i.ready); n == 0 || i.ready[n-1].ready != ready {
		i.ready = append(i.ready, readiness{at, ready})
	}
}

func allReady(pod *v1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if !pod.Status.ContainerStatuses[i].Ready {
			return false
		}
	}
	return true
}

func conditionOf(pod *v1.Pod, of v1.PodConditionType) v1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == of {
			return pod.Status.Conditions[i].Status
		}
	}
	return v1.ConditionUnknown
}

func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// stage is the one after which something is so.
func (l *life) stage(at int) *stages.Stage { return l.way.Taken[max(at, 1)-1].Stage }
