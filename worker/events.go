package worker

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
)

// Events hands the runtime's container events to the workers of their pods.
type Events struct {
	// WithoutWorker is told of pods that the runtime has, and of which there was no worker at two looks, one after the other. The
	// next look waits for it. Set it before Run; nil: nobody wants to know.
	WithoutWorker func(ctx context.Context, uids []types.UID)

	engine  *Engine
	changed func() // called whenever the stream breaks or gives its first event; may be nil

	doubt mailbox.Signal // sent when an unproven stream is to be doubted anew

	mu      sync.Mutex
	workers map[types.UID]*Worker
	proven  bool               // the stream of now has given an event
	strange map[types.UID]bool // pods without a worker, at the last look
}

// unprovenRelist is the first pause between snapshots while the event stream has
// not proven itself: what happens before its subscription is live is lost. The
// longer an open stream is silent, the likelier it is that nothing happens: the
// pause doubles, up to the usual one, until the stream breaks or a pod is added.
const unprovenRelist = 100 * time.Millisecond

// Events prepares the hand-over of events; Run must run for as long as workers do.
// changed is called whenever the runtime may have been lost, or is back: it must not
// block, and may be nil.
func (n *Engine) Events(changed func()) *Events {
	return &Events{engine: n, changed: changed, doubt: mailbox.NewSignal(), workers: map[types.UID]*Worker{}}
}

// Add sends the events of the worker's pod to it, until Remove.
func (e *Events) Add(w *Worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers[w.pod.UID] = w
	e.doubt.Send()
}

// Remove ends what Add began.
func (e *Events) Remove(w *Worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.workers, w.pod.UID)
}

// Run receives events until ctx ends.
func (e *Events) Run(ctx context.Context) {
	if e.engine.Simulated != nil { // what happens is posted
		return
	}
	stream := &cri.Stream{
		Runtime: e.engine.Runtime,
		Log:     e.engine.Log,
		Event:   e.deliver,
		Proven:  func() { e.setProven(true) },
		Broken:  func() { e.setProven(false) },
	}
	var beside sync.WaitGroup
	beside.Go(func() { e.relist(ctx) })
	stream.Run(ctx)
	beside.Wait()
}

// setProven notes whether events can be relied on. When they can again, what
// was missed until now is looked up.
func (e *Events) setProven(proven bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proven = proven
	if e.changed != nil {
		e.changed()
	}
	if !proven {
		e.doubt.Send()
		return
	}
	for _, w := range e.workers {
		w.relist.Send()
	}
}

// relist looks for what events have not told: now and then, and more often while
// the stream has given none.
func (e *Events) relist(ctx context.Context) {
	usual := time.NewTicker(e.engine.Timeouts.Relist)
	defer usual.Stop()
	pause := unprovenRelist
	doubted := time.NewTimer(pause)
	defer doubted.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.doubt:
			pause = unprovenRelist
			doubted.Reset(pause)
		case <-doubted.C:
			if e.doubts() {
				e.look(ctx)
			}
			pause = min(2*pause, max(e.engine.Timeouts.Relist, unprovenRelist))
			doubted.Reset(pause)
		case <-usual.C:
			e.look(ctx)
		}
	}
}

func (e *Events) doubts() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.proven
}

// look tells each worker what there is of its pod, in so few words that it only
// says whether it is worth a snapshot.
func (e *Events) look(ctx context.Context) {
	if e.WithoutWorker == nil && e.idle() {
		return
	}
	looking, cancel := context.WithTimeout(ctx, e.engine.Timeouts.Relist)
	defer cancel()
	all, err := cri.Overlook(looking, e.engine.Runtime)
	e.tell(all, err)
	if stay := e.withoutWorker(all); err == nil && len(stay) > 0 && e.WithoutWorker != nil {
		e.WithoutWorker(ctx, stay)
	}
}

func (e *Events) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.workers) == 0
}

func (e *Events) tell(all cri.Overview, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid, w := range e.workers {
		w.mail.Post(podDigest{digest: all[uid], failed: err != nil})
	}
}

// withoutWorker are the pods that have no worker, and had none at the look before: one that has just begun or ended is none.
func (e *Events) withoutWorker(all cri.Overview) (stay []types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := map[types.UID]bool{}
	for uid := range all {
		if uid == "" || e.workers[uid] != nil {
			continue
		}
		now[uid] = true
		if e.strange[uid] {
			stay = append(stay, uid)
		}
	}
	e.strange = now
	return stay
}

func (e *Events) deliver(event *runtimeapi.ContainerEventResponse) {
	uid := types.UID(event.GetPodSandboxStatus().GetMetadata().GetUid())
	e.mu.Lock()
	w := e.workers[uid]
	e.mu.Unlock()
	if w != nil {
		w.notice(event)
	}
}

// notice turns an event into what the worker takes.
func (w *Worker) notice(event *runtimeapi.ContainerEventResponse) {
	if event.GetContainerId() == event.GetPodSandboxStatus().GetId() {
		if event.GetContainerEventType() == runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
			w.mail.Post(lifecycle.SandboxExited{SandboxID: event.GetContainerId()})
		}
		return
	}
	for _, status := range event.GetContainersStatuses() {
		if status.GetId() != event.GetContainerId() {
			continue
		}
		switch status.GetState() {
		case runtimeapi.ContainerState_CONTAINER_CREATED:
			w.results.created.Store(status.GetId(), new(runningFact(status)))
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			w.mail.Post(runningFact(status))
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			w.mail.Post(status)
		}
	}
}
