package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/roster"
)

// carryOut carries out an effect of the roster. What may take a while runs in a goroutine of its
// own and posts its answer.
func (s *Shell) carryOut(ctx context.Context, effects []roster.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case roster.Begin, roster.Refuse, roster.Resume, roster.Adopt:
			s.begin(ctx, e)
		case roster.Tell:
			s.tell(e)
		case roster.Know:
			s.know(e)
		case roster.Drop:
			s.drop(e)
		case roster.WakeAt:
			s.timer.Stop()
			if !e.At.IsZero() {
				s.timer.Reset(e.At.Sub(s.now()))
			}
		case roster.Release: // before another pod is allocated something
			s.Allocator.Release(e.UID)
		case roster.AnswerResize:
			s.answerRoom(e)
		case roster.DeleteObject:
			if s.Cluster.Statuses != nil {
				s.Cluster.Statuses.Delete(e.Pod, *e.Status.DeepCopy())
			}
		case roster.PodEvent:
			s.record(e)
		case roster.Report:
			s.report(e)
		default:
			s.doBeside(ctx, e)
		}
	}
}

// doBeside does what may take a while.
func (s *Shell) doBeside(ctx context.Context, effect roster.Effect) {
	switch e := effect.(type) {
	case roster.Look:
		s.aside(e, func() { s.look(ctx, e.Pod) })
	case roster.ReadNode:
		s.aside(e, func() { s.mail.Post(roster.NodeRead{UID: e.UID, Node: s.readNode(ctx)}) })
	case roster.Allocate:
		s.aside(e, func() { s.mail.Post(s.Allocator.Allocate(ctx, e.Pod)) })
	case roster.Recall:
		s.withFiles(e, e.UID, func() {
			remembered, _ := s.Memory.Load(e.UID) // nil if it is of no use
			s.mail.Post(roster.Recalled{UID: e.UID, Remembered: remembered})
		})
	case roster.Forget:
		s.withFiles(e, e.UID, func() { s.forget(e.UID) })
	case roster.Discard:
		s.withFiles(e, e.Pod.UID, func() {
			if err := s.Engine.Discard(ctx, e.Pod.UID); err != nil {
				s.Log.Warn("can't remove what is left of a pod that has ended", "pod", name(e.Pod), "err", err)
			}
		})
	case roster.AllHeard:
		s.allHeard(ctx, e)
	case roster.RecordBoot:
		s.aside(e, s.recordBoot)
	default:
		s.reclaim(ctx, effect)
	}
}

// withFiles carries out an effect on a pod's files after those that were asked for before.
func (s *Shell) withFiles(what roster.Effect, uid types.UID, do func()) {
	inOrder := s.files.queue(uid)
	s.aside(what, func() { inOrder(do) })
}

// forget removes what is kept of a pod. If that fails, the next agent finds the pod and forgets it again.
func (s *Shell) forget(uid types.UID) { _ = s.Memory.Forget(uid) }

// tell gives a living pod's worker a fact.
func (s *Shell) tell(e roster.Tell) {
	l := s.life(e.UID)
	if l == nil {
		return // it has just ended, or can't be resumed: the roster will be told
	}
	l.Tell(e.Fact)
}

// know starts watching the objects that a pod uses, and shows a static pod in the API.
func (s *Shell) know(e roster.Know) {
	if l := s.life(e.Pod.UID); l != nil {
		now := &wanted{e.Source, e.Pod}
		l.now.Store(now)
		s.showsGroup(now)
	}
	switch {
	case e.Before != nil:
		s.Counts.Updated(e.Before, e.Pod)
	case e.Again:
		s.Counts.Restarted(e.Source.Static())
	case e.Source == roster.Runtime:
		s.Counts.Orphaned()
	}
	if s.Cluster.Objects != nil {
		s.Cluster.Objects.Register(e.Pod)
	}
	if e.Source.Static() && s.Cluster.Mirrors != nil {
		s.Cluster.Mirrors.Want(e.Pod)
	}
}

// drop undoes what know has begun.
func (s *Shell) drop(e roster.Drop) {
	if e.Source != roster.API && s.Cluster.Mirrors != nil {
		s.Cluster.Mirrors.Unwant(e.UID)
	}
	if s.Cluster.Statuses != nil {
		s.Cluster.Statuses.Forget(e.UID)
	}
	if kept := s.Engine.Folders.Journal; kept != nil && e.Source == roster.API {
		s.withFiles(e, e.UID, func() {
			if err := kept.ObjectGone(string(e.UID)); err != nil {
				s.Log.Debug("the journal does not know that a pod's object is gone", "uid", e.UID, "err", err)
			}
		})
	}
	if s.Cluster.Objects != nil {
		s.Cluster.Objects.Unregister(e.UID)
	}
}

// record tells the API server of a pod.
func (s *Shell) record(e roster.PodEvent) {
	if s.Cluster.Events != nil {
		s.Cluster.Events.Pod(e.Pod, s.now(), e.Event)
	}
}

// report logs what becomes of a pod.
func (s *Shell) report(e roster.Report) {
	if e.Warning {
		s.Log.Warn(e.String(), "rule", e.Rule)
		return
	}
	s.Log.Info(e.String(), "rule", e.Rule)
}

// lookRetry is the pause between attempts to see what the runtime has of a pod.
const lookRetry = time.Second

// look sees what the runtime has of a pod, as soon as the runtime can tell.
func (s *Shell) look(ctx context.Context, pod *v1.Pod) {
	for logged := false; ; logged = true {
		has, err := s.Engine.Observe(ctx, pod)
		if err == nil {
			s.mail.Post(roster.Looked{UID: pod.UID, Has: has, Mirror: s.mirror(pod.UID)})
			return
		}
		if !logged && ctx.Err() == nil {
			s.Log.Warn("can't see what the runtime has of a pod", "pod", name(pod), "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookRetry):
		}
	}
}

func (s *Shell) mirror(static types.UID) *v1.Pod {
	if s.Cluster.Mirrors == nil {
		return nil
	}
	return s.Cluster.Mirrors.Of(static)
}

// rereadTimeout is how long a pod waits for the Node before it is judged by the
// one that is known.
const rereadTimeout = 10 * time.Second

// readNode reads the Node from the API server; nil if that fails.
func (s *Shell) readNode(ctx context.Context) *v1.Node {
	if s.Cluster.FreshNode == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	node, err := s.Cluster.FreshNode(ctx)
	if err != nil {
		s.Log.Warn("can't read the Node whose labels refuse a pod", "err", err)
		return nil
	}
	return node
}

// recordBoot has the next agent go on without waiting for the API.
func (s *Shell) recordBoot() {
	if err := s.Memory.RecordBoot(); err != nil {
		s.Log.Warn("after its next start the agent waits for the API server before it resumes pods", "err", err)
	}
}

// allHeard removes what is left on disk of pods that nobody wants.
func (s *Shell) allHeard(ctx context.Context, what roster.AllHeard) {
	s.Log.Info("all sources were heard")
	if s.Cluster.Mirrors != nil {
		s.Cluster.Mirrors.AllHeard()
	}
	close(s.heard)
	s.aside(what, func() {
		s.releaseUnknown()
		if err := (Remains{s}).ClearDisk(ctx); err != nil {
			s.Log.Warn("can't remove what is left of pods that are gone", "err", err)
		}
	})
}

// releaseUnknown releases what a killed agent had allocated to pods that are gone.
func (s *Shell) releaseUnknown() {
	if s.Allocator == nil {
		return
	}
	for _, uid := range s.Allocator.Held() {
		if !s.known(uid) {
			s.Allocator.Release(uid)
		}
	}
}
