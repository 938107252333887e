package node

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/agent/checkpoint"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/admit"
	"github.com/lifepod/lifepod/node/source"
)

// begin begins a pod's life, goes on with one that another agent has begun, or
// leaves it waiting. Called with mu held.
func (p *Pods) begin(e *pod) {
	switch {
	case p.ended() || e.begun:
	case e.saved != nil:
		p.resume(e)
	case p.sameNameLives(e): // it begins when that one has ended (B-WRK-19)
	case p.found[e.uid] != nil && p.awaitsMirror(e): // it runs already
	case p.found[e.uid] != nil || lifecycle.RanBefore(e.newest, lifecycle.Observed{}):
		p.look(e)
	default:
		p.admit(e, p.Node())
	}
}

// sameNameLives says whether another static pod of the same name has not ended yet.
func (p *Pods) sameNameLives(e *pod) bool {
	if e.origin == source.OriginAPI {
		return false
	}
	for _, other := range p.pods {
		if other != e && other.begun && !other.over && other.origin != source.OriginAPI && other.name == e.name {
			return true
		}
	}
	return false
}

// admit asks whether the Node has room for a new pod (A-ADM-1). A pod that is being
// deleted needs none. Called with mu held.
func (p *Pods) admit(e *pod, node *v1.Node) {
	var refused *admit.Rejection
	if e.newest.DeletionTimestamp == nil {
		answer := admit.Decide(e.newest, p.held(e), node, p.Host)
		switch {
		case answer.Relabel && p.Cluster.FreshNode != nil && !e.reread:
			p.reread(e)
			return
		case len(answer.Victims) > 0 && p.preempt(e, answer.Victims):
			return // it begins when what they hold is free
		case answer.Rejection != nil && p.hasRoomSoon(e, node):
			p.waits(e, "pods that were removed and have not ended yet")
			return
		}
		refused = answer.Rejection
	}
	if refused == nil {
		p.start(e, p.newWorker(e))
		return
	}
	e.rejected = true
	p.Counts.Rejected(refused.Reason)
	worker := p.Engine.NewWorker(e.newest, &sink{p, e})
	worker.Refuse(lifecycle.Rejected{Reason: refused.Reason, Message: refused.Message})
	p.start(e, worker)
}

// waits says in the log, once, what a pod waits for before it begins.
func (p *Pods) waits(e *pod, what string) {
	if !e.waits {
		e.waits = true
		p.Log.Info("the pod waits for room", "pod", e.name, "until", what)
	}
}

// rereadTimeout is how long a pod waits for the Node before it is judged by the
// one that is known.
const rereadTimeout = 10 * time.Second

// reread reads the Node from the API server and admits a pod by that one: only its
// labels refuse the pod, and they may have changed (A-ADM-4). Called with mu held.
func (p *Pods) reread(e *pod) {
	e.begun, e.reread = true, true
	p.goes(func(ctx context.Context) {
		reading, cancel := context.WithTimeout(ctx, rereadTimeout)
		defer cancel()
		node, err := p.Cluster.FreshNode(reading)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.Log.Warn("can't read the Node whose labels refuse a pod", "pod", e.name, "err", err)
			node = p.Node()
		}
		e.begun = false
		switch {
		case p.ended():
		case e.wanted:
			p.admit(e, node)
		default:
			p.leave(e)
		}
	})
}

// start lets a worker live its pod's life. Called with mu held.
func (p *Pods) start(e *pod, worker *agent.Worker) {
	e.begun = true
	e.life = &life{worker: worker, object: control.NewObject(e.newest), links: &logLinks{dir: p.Local.LogLinks}}
	if e.status.Phase != "" {
		e.life.object.Resume(worker.Machine(), time.Now())
	}
	p.events.Add(worker)
	life, accepted := e.life, saved{Origin: e.origin, Pod: worker.Pod()}
	p.goes(func(ctx context.Context) {
		life.memory = p.remember(worker, accepted)
		p.serve(life, accepted)
		p.returned(e, life, p.live(ctx, worker))
	})
	switch {
	case e.wanted:
		e.life.catchUp(worker.Pod(), e.newest)
	case p.allHeard():
		e.life.leave(e.newest)
	}
}

// remember has the next agent go on with the pod; nil if that can't be.
func (p *Pods) remember(worker *agent.Worker, accepted saved) *checkpoint.File {
	file, err := p.Memory.keep(accepted)
	if err != nil {
		p.Log.Warn("a pod can't be remembered: it would not outlive a kill of lifepod", "pod", name(accepted.Pod), "err", err)
		return nil
	}
	worker.Remember(file)
	return file
}

// live runs a worker. A panic of its is its pod's alone: the others go on.
func (p *Pods) live(ctx context.Context, worker *agent.Worker) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, r, debug.Stack())
		}
	}()
	return worker.Run(ctx)
}

// ended says that nothing is begun any more, or not yet. Called with mu held.
func (p *Pods) ended() bool { return p.ctx == nil || p.ctx.Err() != nil }

// goes has something done beside, which Wait waits for. Called with mu held, so
// that nothing begins while Wait returns.
func (p *Pods) goes(do func(ctx context.Context)) {
	if ctx := p.ctx; !p.ended() {
		p.lives.Go(func() { do(ctx) })
	}
}

func name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }
