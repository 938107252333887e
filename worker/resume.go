package worker

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Checkpoints store a pod's state for the next lifepod in case this one is killed
// (package worker).
type Checkpoints interface {
	// Save is called before the effects of a step are carried out.
	Save(c lifecycle.Checkpoint) error
	// Sync returns once the last save also survives a power failure.
	Sync() error
}

// memory is what a worker saves for its successor in case it is killed.
type memory struct {
	in      Checkpoints           // nil: nothing is saved
	resumed bool                  // another worker's pod
	failed  bool                  // the last save failed
	problem atomic.Pointer[error] // why; for others to read
	since   time.Time             // of the last failure

	clockChanged time.Duration // of the wall clock, while no lifepod ran
}

// Remember saves the pod's state from now on. Call it before Run.
func (w *Worker) Remember(in Checkpoints) { w.memory.in = in }

// NotRemembered says why nothing could be saved so far: the first step saves, even if it
// changes nothing. Call it before Run.
func (w *Worker) NotRemembered(why error) {
	w.memory.failed = true
	w.memory.problem.Store(&why)
}

// ResumeWorker prepares a worker that resumes a pod from its last checkpoint after its
// lifepod was killed. The pod is as it was accepted, with the same UID. The error says
// why the checkpoint is unusable.
func (n *Engine) ResumeWorker(pod *v1.Pod, sink Sink, from lifecycle.Checkpoint) (*Worker, error) {
	w := n.NewWorker(pod, sink)
	machine, err := lifecycle.Restore(pod, w.executor.options(), from)
	if err != nil {
		w.Close()
		return nil, err
	}
	w.machine, w.memory.resumed = machine, true
	w.memory.clockChanged = w.clock.changedSince(from.Clock)
	w.executor.attempt = from.Sandbox.Attempt
	w.executor = w.executor.of(machine.Pod())
	return w, nil
}

// AdoptWorker prepares a worker that continues a pod without a checkpoint, from the
// status of its object and what the runtime has of it.
func (n *Engine) AdoptWorker(pod *v1.Pod, sink Sink, seen lifecycle.Observed) *Worker {
	w := n.NewWorker(pod, sink)
	w.machine, w.memory.resumed = lifecycle.Adopt(pod, w.executor.options(), seen), true
	w.executor.attempt = w.machine.Checkpoint().Sandbox.Attempt
	w.executor = w.executor.of(w.machine.Pod())
	return w
}

// Observe reads all that the runtime has of a pod, in no more time than a worker has for it.
func (n *Engine) Observe(ctx context.Context, pod *v1.Pod) (lifecycle.Observed, error) {
	if n.Simulated != nil { // nothing outlives the process
		return lifecycle.Observed{Began: n.Clock.Time().Now()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.Timeouts.Of(lifecycle.Observe{}))
	defer cancel()
	h := &executor{engine: n, pod: pod, results: &results{}}
	return cri.Observe(ctx, n.Runtime, string(pod.UID), h.describe())
}

// Discard removes what is on disk of a pod that has ended without its worker:
// volumes, never through a mount, its folder, and its cgroup.
func (n *Engine) Discard(ctx context.Context, uid types.UID) error {
	if n.Simulated != nil {
		return nil
	}
	if err := n.takeBack(ctx, uid); err != nil {
		return err
	}
	if err := volumes.Remove(n.podDir(uid)); err != nil {
		return err
	}
	return n.Cgroups.Remove(ctx, uid)
}

// takeBack has drivers take back a pod's volumes: what they have mounted is theirs to unmount.
func (n *Engine) takeBack(ctx context.Context, uid types.UID) error {
	if n.API.CSI == nil {
		return nil
	}
	return n.API.CSI.Unpublish(ctx, uid)
}

// firstFact begins or continues the pod's life. A pod that was admitted once is not
// admitted again (B-RST-2's better).
func (w *Worker) firstFact() lifecycle.Fact {
	if w.first != nil {
		return w.first
	}
	if w.memory.resumed {
		return lifecycle.Resumed{ClockChanged: w.memory.clockChanged}
	}
	return w.executor.admission()
}

// logAgain is how long saves must succeed before a failure is reported again: on a disk
// that is nearly full they succeed now and then.
const logAgain = 10 * time.Minute

// save saves the current state. If that fails the pod goes on, and what a kill -9 of
// lifepod would then mean is reported once.
func (w *Worker) save(at time.Time) {
	m := &w.memory
	if m.in == nil || (!w.machine.ToSave() && !m.failed) {
		return // unchanged since the last save
	}
	checkpoint := w.machine.Checkpoint()
	checkpoint.Clock = w.clock.machine
	err := m.in.Save(checkpoint)
	if m.failed = err != nil; !m.failed {
		m.problem.Store(nil)
		return
	}
	m.problem.Store(&err)
	if at.Sub(m.since) > logAgain {
		w.log.Warn("the pod's state can't be saved", "err", err)
		w.sink.Report(at, lifecycle.Report{
			Subject: "pod", Kind: "not-saved", Message: err.Error(), Outcome: "lost-with-a-kill", Rule: "B-RST-9",
		})
	}
	m.since = at
}

// saveAgain saves what could not be saved before: nothing else may happen to the pod for
// long, and the disk may have room by now.
func (w *Worker) saveAgain() {
	if w.memory.failed {
		w.save(w.clock.soon())
	}
}

// confirm answers a Publish that every watcher must see, once it is also safe on disk
// (B-RAC-23).
func (w *Worker) confirm(id lifecycle.EffectID) {
	if id == 0 {
		return
	}
	in := w.memory.in
	w.beside(id, func() {
		fact := lifecycle.Published{Result: lifecycle.Result{ID: id}}
		if in != nil {
			if err := in.Sync(); err != nil {
				fact.Failure = &lifecycle.Failure{Message: err.Error()}
			}
		}
		w.mail.Post(fact)
	})
}
