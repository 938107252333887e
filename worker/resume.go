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

// Checkpoints keep a pod's state where the next lifepod finds it when this one is
// killed (package worker/checkpoint).
type Checkpoints interface {
	// Save is called before the effects of a step are carried out.
	Save(c lifecycle.Checkpoint) error
	// Sync returns when what was saved last survives a power failure, too.
	Sync() error
}

// memory is what a worker leaves for the one that goes on if it is killed.
type memory struct {
	in      Checkpoints           // nil: nobody goes on
	resumed bool                  // another worker's pod
	failed  bool                  // nothing is kept: the last save did not work
	problem atomic.Pointer[error] // why; for others to read
	since   time.Time             // when one did not work last

	clockChanged time.Duration // the wall clock, while no lifepod was there
}

// Remember saves the pod's state from now on. Call it before Run.
func (w *Worker) Remember(in Checkpoints) { w.memory.in = in }

// ResumeWorker prepares a worker that goes on with a pod whose lifepod was killed,
// from its last checkpoint. The pod is as it was accepted, with the same UID. The
// error says why the checkpoint is of no use.
func (n *Node) ResumeWorker(pod *v1.Pod, sink Sink, from lifecycle.Checkpoint) (*Worker, error) {
	w := n.NewWorker(pod, sink)
	machine, err := lifecycle.Restore(pod, w.executor.options(), from)
	if err != nil {
		return nil, err
	}
	w.machine, w.memory.resumed = machine, true
	w.memory.clockChanged = w.clock.changedSince(from.Clock)
	w.executor.attempt = from.Sandbox.Attempt
	w.executor = w.executor.of(machine.Pod())
	return w, nil
}

// AdoptWorker prepares a worker that goes on with a pod of which there is no
// checkpoint, from the status of its object and what the runtime has of it.
func (n *Node) AdoptWorker(pod *v1.Pod, sink Sink, seen lifecycle.Observed) *Worker {
	w := n.NewWorker(pod, sink)
	w.machine, w.memory.resumed = lifecycle.Adopt(pod, w.executor.options(), seen), true
	w.executor.attempt = w.machine.Checkpoint().Sandbox.Attempt
	w.executor = w.executor.of(w.machine.Pod())
	return w
}

// Observe reads all that the runtime has of a pod.
func (n *Node) Observe(ctx context.Context, pod *v1.Pod) (lifecycle.Observed, error) {
	h := &executor{node: n, pod: pod, results: &results{}}
	return cri.Observe(ctx, n.Runtime, string(pod.UID), h.describe())
}

// Discard removes what is on disk of a pod that has ended without its worker:
// volumes, never through a mount, its folder, and its cgroup.
func (n *Node) Discard(ctx context.Context, uid types.UID) error {
	if err := volumes.Remove(n.podDir(uid)); err != nil {
		return err
	}
	return n.Cgroups.Remove(ctx, uid)
}

// firstFact begins the pod's life, or goes on with it: a pod that was admitted
// once is not asked about again (B-RST-2's better).
func (w *Worker) firstFact() lifecycle.Fact {
	if w.first != nil {
		return w.first
	}
	if w.memory.resumed {
		return lifecycle.Resumed{ClockChanged: w.memory.clockChanged}
	}
	return w.executor.admission()
}

// tellAgain is for how long saving must have worked before it is told again that
// it does not: on a disk that is all but full it works now and then.
const tellAgain = 10 * time.Minute

// save keeps the state of now. When that fails the pod goes on; what a kill -9 of
// lifepod would mean then is told once.
func (w *Worker) save(at time.Time) {
	m := &w.memory
	if m.in == nil || (!w.machine.ToSave() && !m.failed) {
		return // nothing new since it was saved
	}
	checkpoint := w.machine.Checkpoint()
	checkpoint.Clock = w.clock.machine
	err := m.in.Save(checkpoint)
	if m.failed = err != nil; !m.failed {
		m.problem.Store(nil)
		return
	}
	m.problem.Store(&err)
	if at.Sub(m.since) > tellAgain {
		w.log.Warn("the pod's state can't be saved", "err", err)
		w.sink.Report(at, lifecycle.Report{
			Subject: "pod", What: "can't be remembered: " + err.Error(), Outcome: "it would not outlive a kill of lifepod", Rule: "B-RST-9",
		})
	}
	m.since = at
}

// confirm answers a Publish that waits to be seen by everybody, when it is safe
// on disk as well (B-RAC-23).
func (w *Worker) confirm(id lifecycle.EffectID) {
	if id == 0 {
		return
	}
	in := w.memory.in
	w.beside(func() {
		fact := lifecycle.Published{Result: lifecycle.Result{ID: id}}
		if in != nil {
			if err := in.Sync(); err != nil {
				fact.Failure = &lifecycle.Failure{Message: err.Error()}
			}
		}
		w.mail.Post(fact)
	})
}
