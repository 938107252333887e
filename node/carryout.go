package node

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/podstatus"
	"github.com/lifepod/lifepod/roster"
)

// carryOut does what the roster asks for. Whatever may take a while is done beside it,
// and answered by mail.
func (p *Pods) carryOut(ctx context.Context, effects []roster.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case roster.Begin, roster.Refuse, roster.Resume, roster.Adopt:
			p.begin(ctx, e)
		case roster.Tell:
			p.tell(e)
		case roster.Know:
			p.know(e)
		case roster.Drop:
			p.drop(e)
		case roster.WakeAt:
			p.timer.Stop()
			if !e.At.IsZero() {
				p.timer.Reset(time.Until(e.At))
			}
		case roster.AnswerResize:
			p.resizes.answer(e.ID, e.Refusal)
		case roster.DeleteObject:
			if p.Cluster.Statuses != nil {
				p.Cluster.Statuses.Delete(podstatus.Ref{Namespace: e.Pod.Namespace, Name: e.Pod.Name, UID: e.Pod.UID}, *e.Status.DeepCopy())
			}
		case roster.Report:
			p.report(e)
		default:
			p.doBeside(ctx, e)
		}
	}
}

// doBeside does what may take a while.
func (p *Pods) doBeside(ctx context.Context, effect roster.Effect) {
	switch e := effect.(type) {
	case roster.Look:
		p.beside.Go(func() { p.look(ctx, e.Pod) })
	case roster.ReadNode:
		p.beside.Go(func() { p.mail.Post(roster.NodeRead{UID: e.UID, Node: p.readNode(ctx)}) })
	case roster.Recall:
		p.withFiles(e.UID, func() { p.mail.Post(roster.Recalled{UID: e.UID, Remembered: p.Memory.recall(e.UID)}) })
	case roster.Forget:
		p.withFiles(e.UID, func() { p.Memory.forget(e.UID) })
	case roster.Discard:
		p.withFiles(e.Pod.UID, func() {
			if err := p.Engine.Discard(ctx, e.Pod.UID); err != nil {
				p.Log.Warn("can't remove what is left of a pod that has ended", "pod", name(e.Pod), "err", err)
			}
		})
	case roster.AllHeard:
		p.allHeard(ctx)
	default:
		panic(fmt.Sprintf("node: no way to carry out %T", effect))
	}
}

// withFiles does something with a pod's files, in its turn.
func (p *Pods) withFiles(uid types.UID, do func()) {
	turn := p.files.turn(uid)
	p.beside.Go(func() { turn(do) })
}

// tell gives a living pod's worker a fact.
func (p *Pods) tell(e roster.Tell) {
	l := p.life(e.UID)
	if l == nil {
		return // it has just ended, or can't be resumed: the roster will be told
	}
	switch fact := e.Fact.(type) {
	case lifecycle.PodUpdated:
		l.object.Updated(fact.Pod)
	case lifecycle.StopRequested:
		l.object.StopRequested(time.Now(), fact)
	}
	l.worker.Post(e.Fact)
}

// know has what a pod uses watched, and shows a static pod in the API.
func (p *Pods) know(e roster.Know) {
	if l := p.life(e.Pod.UID); l != nil {
		l.now.Store(&wanted{e.Source, e.Pod})
	}
	switch {
	case e.Before != nil:
		p.Counts.Updated(e.Before, e.Pod)
	case e.Again:
		p.Counts.Restarted(e.Source.Static())
	case e.Source == roster.Runtime:
		p.Counts.Orphaned()
	}
	if p.Cluster.Objects != nil {
		p.Cluster.Objects.Register(e.Pod)
	}
	if e.Source.Static() && p.Cluster.Mirrors != nil {
		p.Cluster.Mirrors.Want(e.Pod)
	}
}

// drop ends what know has begun.
func (p *Pods) drop(e roster.Drop) {
	if e.Source != roster.API && p.Cluster.Mirrors != nil {
		p.Cluster.Mirrors.Unwant(e.UID)
	}
	if p.Cluster.Statuses != nil {
		p.Cluster.Statuses.Forget(e.UID)
	}
	if p.Cluster.Objects != nil {
		p.Cluster.Objects.Unregister(e.UID)
	}
}

// report logs what becomes of a pod.
func (p *Pods) report(e roster.Report) {
	if e.Warning {
		p.Log.Warn(e.String(), "rule", e.Rule)
		return
	}
	p.Log.Info(e.String(), "rule", e.Rule)
}

// lookRetry is the pause between attempts to see what the runtime has of a pod.
const lookRetry = time.Second

// look sees what the runtime has of a pod, as soon as the runtime can tell.
func (p *Pods) look(ctx context.Context, pod *v1.Pod) {
	for told := false; ; told = true {
		has, err := p.Engine.Observe(ctx, pod)
		if err == nil {
			p.mail.Post(roster.Looked{UID: pod.UID, Has: has, Mirror: p.mirror(pod.UID)})
			return
		}
		if !told && ctx.Err() == nil {
			p.Log.Warn("can't see what the runtime has of a pod", "pod", name(pod), "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookRetry):
		}
	}
}

func (p *Pods) mirror(static types.UID) *v1.Pod {
	if p.Cluster.Mirrors == nil {
		return nil
	}
	return p.Cluster.Mirrors.Of(static)
}

// rereadTimeout is how long a pod waits for the Node before it is judged by the
// one that is known.
const rereadTimeout = 10 * time.Second

// readNode reads the Node from the API server; nil if that can't be.
func (p *Pods) readNode(ctx context.Context) *v1.Node {
	if p.Cluster.FreshNode == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	node, err := p.Cluster.FreshNode(ctx)
	if err != nil {
		p.Log.Warn("can't read the Node whose labels refuse a pod", "err", err)
		return nil
	}
	return node
}

// allHeard removes what is left on disk of pods that nobody wants, and has the next
// agent go on without waiting for the API.
func (p *Pods) allHeard(ctx context.Context) {
	p.Log.Info("all sources were heard")
	if p.Cluster.Mirrors != nil {
		p.Cluster.Mirrors.AllHeard()
	}
	p.beside.Go(func() {
		if err := p.Memory.keepBoot(); err != nil {
			p.Log.Warn("after its next start the agent waits for the API server before it resumes pods", "err", err)
		}
		p.clearDisk(ctx)
	})
}
