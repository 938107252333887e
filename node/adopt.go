package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/source"
)

// resume goes on where another agent's worker was. Called with mu held.
func (p *Pods) resume(e *pod) {
	from, left := e.saved, p.found[e.uid]
	e.saved = nil
	if left != nil && from.Checkpoint.Overtaken(left.seen) {
		p.overtaken(e)
		return
	}
	delete(p.found, e.uid)
	worker, err := p.Engine.ResumeWorker(from.Pod, &sink{p, e}, from.Checkpoint)
	if err != nil {
		p.Log.Warn("what is remembered of a pod is of no use: it is led on from what the runtime has", "pod", e.name, "err", err)
		p.look(e)
		return
	}
	e.status = worker.Machine().Status()
	p.start(e, worker)
}

// overtaken lets a pod be adopted that another agent, such as a kubelet, has led on
// since this one wrote its checkpoint: now if it is wanted, else when its source,
// which knows how far it has come, or nobody wants it. Called with mu held.
func (p *Pods) overtaken(e *pod) {
	p.Log.Info("another agent has led the pod on meanwhile", "pod", e.name)
	p.Memory.forget(e.uid)
	if e.wanted {
		p.begin(e)
		return
	}
	p.drop(e)
}

// mirrorPatience is how long static pods that run already wait for the API to tell
// what the cluster knows of them. They must do without it: it may be such a pod that
// serves the API.
const mirrorPatience = 10 * time.Second

// awaitMirrors ends the wait of static pods for the API.
func (p *Pods) awaitMirrors(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(mirrorPatience):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = true
	p.beginAll()
}

// awaitsMirror says whether a static pod that is to be adopted waits for the API,
// which knows its status. Called with mu held.
func (p *Pods) awaitsMirror(e *pod) bool {
	return e.origin != source.OriginAPI && p.Cluster.Mirrors != nil && !p.heard[source.OriginAPI] && !p.alone
}

// asKnown is a pod as its source has it; a static pod, whose file has no status, with
// that of its mirror pod (B-RST-7). One that has ended is not held to it: another
// agent tries it again (B-STA-8). Called with mu held.
func (p *Pods) asKnown(e *pod) *v1.Pod {
	if e.origin == source.OriginAPI || p.Cluster.Mirrors == nil {
		return e.newest
	}
	mirror := p.Cluster.Mirrors.Of(e.uid)
	if mirror == nil || terminal(mirror.Status.Phase) {
		return e.newest
	}
	pod := *e.newest
	pod.Status = *mirror.Status.DeepCopy()
	return &pod
}

// lookRetry is the pause between attempts to see what the runtime has of a pod.
const lookRetry = time.Second

// look goes on with a pod that has run on this node and that nothing is remembered
// of, such as a kubelet's. Without the runtime nothing is known of it: it waits.
// Called with mu held.
func (p *Pods) look(e *pod) {
	delete(p.found, e.uid)
	e.begun = true
	seen := p.asKnown(e)
	p.goes(func(ctx context.Context) {
		for told := false; ; told = true {
			has, err := p.Engine.Observe(ctx, seen)
			if err == nil {
				p.Memory.forget(e.uid) // of a pod as it was long ago
				p.mu.Lock()
				defer p.mu.Unlock()
				p.seen(e, has)
				return
			}
			if !told && ctx.Err() == nil {
				p.Log.Warn("can't see what the runtime has of a pod", "pod", e.name, "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(lookRetry):
			}
		}
	})
}

// seen goes on with what the runtime has of a pod. Only that, which nobody but an agent
// of this node can have made, spares a pod admission (B-RST-2's better): it runs, or has
// run, after it was admitted. A status that tells of containers does not, whoever has
// written it: of a pod of which the runtime has nothing more, after a loss of its records
// or of the machine's disk, the status says how its life goes on (B-RST-4, B-RST-12,
// B-RST-13), but it is admitted first, as upstream does with every pod. Called with mu
// held.
func (p *Pods) seen(e *pod, has lifecycle.Observed) {
	here, known := len(has.Sandboxes) > 0 || len(has.Containers) > 0, p.asKnown(e)
	unwanted := !e.wanted && p.allHeard()
	e.begun = false
	switch {
	case p.ended():
	case !here && (unwanted || e.origin == originRuntime): // it has gone by itself
		p.endedBefore(e)
		p.drop(e)
	case !here && terminal(e.newest.Status.Phase):
		p.endedBefore(e)
	case here:
		p.Log.Info("adopts a pod", "pod", e.name, "containers", len(has.Containers))
		e.status = *known.Status.DeepCopy()
		p.start(e, p.Engine.AdoptWorker(known, &sink{p, e}, has))
	case e.wanted && lifecycle.RanBefore(known, has):
		e.ran = true
		p.admit(e, p.Node())
	case e.wanted:
		p.begin(e)
	}
}

// newWorker is the worker of a pod of which the runtime has nothing, with which the Node's
// admission agrees.
func (p *Pods) newWorker(e *pod) *agent.Worker {
	known := p.asKnown(e)
	if !e.ran || known.DeletionTimestamp == nil && !p.Engine.Admits(known) { // then its first fact is why
		return p.Engine.NewWorker(e.newest, &sink{p, e})
	}
	p.Log.Info("goes on with a pod of which the runtime has nothing", "pod", e.name, "rule", "B-RST-4")
	e.status = *known.Status.DeepCopy()
	return p.Engine.AdoptWorker(known, &sink{p, e}, lifecycle.Observed{})
}

// endedBefore files a pod that has ended before and of which the runtime has
// nothing: it needs no worker, only what is left on disk to be removed (B-WRK-23).
// Called with mu held.
func (p *Pods) endedBefore(e *pod) {
	e.begun, e.over, e.status = true, true, *e.newest.Status.DeepCopy()
	p.goes(func(ctx context.Context) {
		if err := p.Engine.Discard(ctx, e.uid); err != nil {
			p.Log.Warn("can't remove what is left of a pod that has ended", "pod", e.name, "err", err)
		}
	})
	p.deleteEnded(e)
}
