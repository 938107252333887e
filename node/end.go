package node

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/source"
)

var errPanicked = errors.New("the pod's worker has panicked")

// quarantine is how long a pod whose worker has panicked is left alone before its
// life goes on from its checkpoint.
const quarantine = 10 * time.Second

// returned is called when a worker has: the pod is gone, or lifepod ends, or
// something is wrong with the worker.
func (p *Pods) returned(e *pod, life *life, err error) {
	p.events.Remove(life.worker)
	p.takeLife(e)
	if life.memory != nil {
		_ = life.memory.Close() // all that was to be kept has been
	}
	if err == nil {
		life.object.Gone() // before the server closes: then its clients are told
	}
	if life.server != nil {
		p.lives.Go(life.server.Close) // answers under way are given a moment
	}
	switch {
	case errors.Is(err, errPanicked):
		p.Log.Error("a pod is left alone for a while", "pod", e.name, "err", err)
		p.later(quarantine, func() { p.goOn(e) })
	case err == nil:
		life.links.remove(e.newest, p.Engine.Config.PodLogDirectory(e.newest))
		p.Memory.forget(e.uid)
		p.gone(e)
	}
}

func (p *Pods) takeLife(e *pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.life = nil
}

// gone files that nothing is left of a pod (B-WRK-16). It blocks its UID for as
// long as its source wants it, but for one that was wanted again since.
func (p *Pods) gone(e *pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	uid := e.uid
	e.over = true
	p.Counts.Gone(e.newest)
	p.deleteEnded(e)
	if e.origin == source.OriginAPI && p.Cluster.Objects != nil {
		p.Cluster.Objects.Unregister(uid)
	}
	switch {
	case e.again:
		p.Counts.Restarted(e.origin != source.OriginAPI)
		p.pods[uid] = newPod(e.origin, e.newest)
		p.pods[uid].wanted = true
		if p.Cluster.Objects != nil {
			p.Cluster.Objects.Register(e.newest)
		}
	case !e.wanted:
		p.drop(e)
	}
	p.roomFreed()
	p.changed(uid)
}

// goOn brings a pod back from its checkpoint, else from what the runtime has of it.
func (p *Pods) goOn(e *pod) {
	saved, err := p.Memory.load(e.uid)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended() {
		return
	}
	e.begun = false
	if err != nil {
		p.look(e)
		return
	}
	e.saved = saved
	p.begin(e)
}

// afterwards calls do, with mu held, after a while, unless lifepod ends first. Called
// with mu held.
func (p *Pods) afterwards(after time.Duration, do func()) {
	p.goes(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(after):
			p.mu.Lock()
			defer p.mu.Unlock()
			do()
		}
	})
}

// later calls do after a while, unless lifepod ends first.
func (p *Pods) later(after time.Duration, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.goes(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(after):
			do()
		}
	})
}

// changed tells that a pod has another status, or has ended.
func (p *Pods) changed(uid types.UID) {
	if p.Stir != nil {
		p.Stir()
	}
	if p.Cluster.Changed != nil {
		p.Cluster.Changed(uid)
	}
}
