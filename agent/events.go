package agent

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// Events hands the runtime's container events to the workers of their pods.
type Events struct {
	node *Node

	doubt chan struct{} // holds a value when an unproven stream is to be doubted anew

	mu      sync.Mutex
	workers map[types.UID]*Worker
	proven  bool // the stream of now has given an event
}

// unprovenRelist is the first pause between snapshots while the event stream has
// not proven itself: what happens before its subscription is live is lost. The
// longer an open stream is silent, the likelier it is that nothing happens: the
// pause doubles, up to the usual one, until the stream breaks or a pod is added.
const unprovenRelist = 100 * time.Millisecond

// Events prepares the hand-over of events; Run must run for as long as workers do.
func (n *Node) Events() *Events {
	return &Events{node: n, doubt: make(chan struct{}, 1), workers: map[types.UID]*Worker{}}
}

// Add sends the events of the worker's pod to it, until Remove.
func (e *Events) Add(w *Worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers[w.pod.UID] = w
	e.doubtAnew()
}

// Remove ends what Add began.
func (e *Events) Remove(w *Worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.workers, w.pod.UID)
}

// Run receives events until ctx ends.
func (e *Events) Run(ctx context.Context) {
	stream := &cri.Stream{
		Runtime: e.node.Runtime,
		Log:     e.node.Log,
		Event:   e.deliver,
		Proven:  func() { e.setProven(true) },
		Broken:  func() { e.setProven(false) },
	}
	var beside sync.WaitGroup
	beside.Go(func() { e.relistUnproven(ctx) })
	stream.Run(ctx)
	beside.Wait()
}

// setProven notes whether events can be relied on. When they can again, what
// was missed until now is looked up.
func (e *Events) setProven(proven bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proven = proven
	if !proven {
		e.doubtAnew()
		return
	}
	for _, w := range e.workers {
		w.askRelist()
	}
}

func (e *Events) doubtAnew() {
	select {
	case e.doubt <- struct{}{}:
	default:
	}
}

// relistUnproven takes snapshots in place of events for as long as the stream
// has given none.
func (e *Events) relistUnproven(ctx context.Context) {
	pause := unprovenRelist
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-e.doubt:
			timer.Stop()
			pause = unprovenRelist
		case <-timer.C:
			e.askUnproven()
			pause = min(2*pause, max(e.node.Timeouts.Relist, unprovenRelist))
		}
	}
}

func (e *Events) askUnproven() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.proven {
		return
	}
	for _, w := range e.workers {
		w.askRelist()
	}
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
			w.mail.post(lifecycle.SandboxExited{SandboxID: event.GetContainerId()})
		}
		return
	}
	for _, status := range event.GetContainersStatuses() {
		if status.GetId() != event.GetContainerId() {
			continue
		}
		switch status.GetState() {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			w.mail.post(runningFact(status))
		case runtimeapi.ContainerState_CONTAINER_EXITED:
			w.mail.post(status)
		}
	}
}
