package roster

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/pressure"
)

// cpuOf is what a pod asks for: as a whole, or for its container.
func cpuOf(pod *v1.Pod) *resource.Quantity { return asks(pod).Requests.Cpu() }

func asks(pod *v1.Pod) *v1.ResourceRequirements {
	if pod.Spec.Resources != nil {
		return pod.Spec.Resources
	}
	return &pod.Spec.Containers[0].Resources
}

// allocatedIn is what a status says that a pod was allocated, if it does.
func allocatedIn(status *v1.PodStatus) (thousandths int64, found bool) {
	if cpu, has := status.AllocatedResources[v1.ResourceCPU]; has {
		return cpu.MilliValue(), true
	}
	for _, c := range status.ContainerStatuses {
		if cpu, has := c.AllocatedResources[v1.ResourceCPU]; has {
			return cpu.MilliValue(), true
		}
	}
	return 0, false
}

// worksOn lets a worker do what it has to do. It says false if that is nothing.
func (w *world) worksOn(worker *worker) bool {
	switch {
	case worker.refused && worker.status.Phase == "":
		w.publishes(worker, v1.PodStatus{Phase: v1.PodFailed, Reason: worker.because})
		w.keeps(worker)
	case len(worker.inbox) > 0:
		f := worker.inbox[0]
		worker.inbox = worker.inbox[1:]
		w.takes(worker, f)
	case worker.ends:
		w.ends(worker)
	case worker.evicted && !lifecycle.Terminal(worker.status.Phase):
		w.publishes(worker, v1.PodStatus{Phase: v1.PodFailed, Reason: worker.because})
		if w.enoughAfterOne && worker.because == pressure.Reason {
			clear(w.left)
		}
	case worker.evicted && !worker.rests:
		worker.rests = true
		w.post(Rested{UID: worker.pod.UID})
	case !lifecycle.Terminal(worker.status.Phase) && w.runtime[worker.pod.UID] == nil:
		w.starts(worker)
	case !lifecycle.Terminal(worker.status.Phase) && worker.status.Phase == "":
		w.publishes(worker, statusOfPod(worker.pod, cpuOf(worker.pod).String()))
		w.keeps(worker)
	case w.memory[worker.pod.UID] == nil:
		w.keeps(worker)
	case w.finishes[worker.pod.UID] && !lifecycle.Terminal(worker.status.Phase):
		w.publishes(worker, statusOf(v1.PodSucceeded, ""))
	case worker.asked == nil && !worker.defers && w.wantsResize(worker):
		w.asks(worker)
	default:
		return false
	}
	return true
}

// takes has a worker take in what it was told.
func (w *world) takes(worker *worker, fact lifecycle.Fact) {
	switch f := fact.(type) {
	case lifecycle.StopRequested:
		worker.ends = true
		w.keeps(worker)
	case lifecycle.EvictionRequested:
		worker.evicted, worker.because = true, f.Reason
	case lifecycle.PodUpdated:
		if f.Pod.Generation < worker.newest.Generation {
			return // overtaken by a newer one
		}
		if cpuOf(worker.newest).Cmp(*cpuOf(f.Pod)) != 0 {
			worker.asked, worker.judged, worker.defers = nil, false, false // as lifecycle does, which heeds no answer to what was asked for before
		}
		worker.newest = f.Pod
		if !w.wantsResize(worker) { // any more
			worker.status.Conditions = nil
		}
		if k := w.memory[f.Pod.UID]; k != nil {
			k.newest = f.Pod
		}
		if worker.status.Phase != "" && worker.status.ObservedGeneration < f.Pod.Generation {
			w.publishes(worker, worker.status)
		}
		if f.Pod.DeletionTimestamp != nil {
			worker.ends = true
			w.keeps(worker)
		}
	case lifecycle.RoomFreed:
		worker.defers = false
	}
}

// starts has the runtime make something of a pod.
func (w *world) starts(worker *worker) {
	uid, attempt := worker.pod.UID, uint32(0)
	if k := w.memory[uid]; k != nil {
		attempt = k.Checkpoint.Sandbox.Attempt + 1
	}
	allocated := cpuOf(worker.pod).String()
	if cpu, found := allocatedIn(&worker.status); found {
		allocated = resource.NewMilliQuantity(cpu, resource.DecimalSI).String()
	}
	w.runtime[uid] = &thing{pod: worker.pod, source: worker.source, attempt: attempt}
	w.keeps(worker)
	w.publishes(worker, statusOfPod(worker.pod, allocated))
}

// ends goes the steps of a pod's end.
func (w *world) ends(worker *worker) {
	switch {
	case !lifecycle.Terminal(worker.status.Phase):
		w.publishes(worker, statusOf(v1.PodFailed, ""))
	case worker.source == API && worker.newest.DeletionTimestamp != nil && !worker.reported:
		worker.reported = true
		w.post(NothingLeft{UID: worker.pod.UID})
	default:
		w.ended(worker)
	}
}

// wantsResize says that a running pod has not what it asks for.
func (w *world) wantsResize(worker *worker) bool {
	allocated, found := allocatedIn(&worker.status)
	return found && !lifecycle.Terminal(worker.status.Phase) && allocated != cpuOf(worker.newest).MilliValue()
}

func (w *world) asks(worker *worker) {
	w.made++
	worker.asked, worker.question = worker.newest, w.made
	w.post(ResizeAsked{ID: w.made, Pod: worker.asked})
}
