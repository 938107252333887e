package pods

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// living is a pod whose life the shell leads. It takes what the worker tells: to the API
// server, and to the roster.
type living struct {
	*Life
	shell *Shell
	links *LogLinks // used by the worker's goroutine

	now    atomic.Pointer[wanted]
	status v1.PodStatus // as told last; the worker's goroutine's once it runs
}

// wanted is a pod as its source has it.
type wanted struct {
	source roster.Source
	pod    *v1.Pod
}

// begin starts or resumes a pod.
func (s *Shell) begin(ctx context.Context, effect roster.Effect) {
	l := &living{shell: s, links: &LogLinks{Folder: s.Local.LogLinks}}
	switch e := effect.(type) {
	case roster.Begin:
		l.is(e.Source, NewLife(s.Engine, e.Pod, l))
	case roster.Refuse:
		s.Counts.Rejected(e.Why.Reason)
		l.is(e.Source, NewLife(s.Engine, e.Pod, l))
		l.Worker.Refuse(lifecycle.Rejected(e.Why))
	case roster.Adopt:
		l.is(e.Source, adoptLife(s.Engine, e.Pod, l, e.Has))
		l.status = e.Pod.Status
	case roster.Resume:
		resumed, err := ResumeLife(s.Engine, e.Pod, l, e.Checkpoint)
		if err != nil {
			s.mail.Post(roster.NotResumed{UID: e.Pod.UID, Err: err})
			return
		}
		l.is(e.Source, resumed)
		l.status = l.Worker.Machine().Status()
		s.mail.Post(roster.Resumed{UID: e.Pod.UID, Status: l.status})
	}
	s.mu.Lock()
	s.lives[l.uid()] = l
	s.mu.Unlock()
	s.beginsWithDevices(l)
	s.beginsInGroup(l)
	inOrder, wait := s.files.queue(l.uid()), s.Engine.Clock.Await("", effect)
	s.beside.Go(func() {
		wait()
		inOrder(l.remember)
		s.serve(l)
		l.returned(l.live(ctx))
	})
}

func (l *living) is(from roster.Source, life *Life) {
	if l.Life = life; l.shell.Local.Sockets == "" {
		life.object = nil // of thousands of simulated pods each would have one for nobody
	}
	l.now.Store(&wanted{from, life.Worker.Pod()})
}

func (l *living) uid() types.UID { return l.Worker.Pod().UID }

// life is that of a living pod, else nil.
func (s *Shell) life(uid types.UID) *living {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[uid]
}

// remember saves the pod, so that the next agent resumes it; a failure is retried later.
func (l *living) remember() {
	kept := l.shell.Memory.Pod(roster.Remembered{Source: l.now.Load().source, Pod: l.Worker.Pod()})
	if kept == nil {
		return
	}
	l.Worker.Remember(kept)
	if err := kept.Keep(); err != nil {
		l.Worker.NotRemembered(err)
	}
}

var errPanicked = errors.New("the pod's worker has panicked")

// live runs the worker. If it panics, the other pods go on.
func (l *living) live(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, r, debug.Stack())
		}
	}()
	return l.Run(ctx, l.shell.events)
}

// returned is called when the worker has returned: the pod is gone, lifepod ends, or the
// worker failed.
func (l *living) returned(err error) {
	s, now := l.shell, l.now.Load()
	defer l.Worker.Close()
	s.mu.Lock()
	delete(s.lives, l.uid())
	s.mu.Unlock()
	s.beside.Go(l.Close) // answers under way are given a moment
	switch {
	case errors.Is(err, errPanicked):
		s.leavesGroup(l)
		s.mail.Post(roster.Panicked{UID: l.uid(), Err: err})
	case err == nil: // else the next agent goes on
		s.leavesGroup(l)
		l.links.Remove(now.pod, s.LogDir(now.pod))
		s.Counts.Gone(now.pod)
		if now.source == roster.API && s.Cluster.Objects != nil {
			s.Cluster.Objects.Unregister(l.uid())
		}
		s.mail.Post(roster.Ended{UID: l.uid()})
	}
}

// Status takes a new status: to the API server, and to the roster.
func (l *living) Status(status v1.PodStatus, step bool) {
	s, now := l.shell, l.now.Load()
	before := l.status
	l.status = status
	s.Counts.Status(now.pod, &before, &status)
	l.links.Follow(now.pod, s.LogDir(now.pod), &status)
	if s.Cluster.Statuses != nil && now.source != roster.Runtime {
		var seen func(error)
		if step {
			seen = func(error) {}
		}
		l.tellAttempt(now)
		s.Cluster.Statuses.Set(now.pod, now.source.Hash(now.pod), *status.DeepCopy(), seen) // it is written in another form
	}
	if status.Phase == v1.PodFailed {
		s.leavesGroup(l)
	}
	s.mail.Post(roster.Published{UID: l.uid(), Status: status})
}

func (l *living) Event(at time.Time, event lifecycle.RecordEvent) {
	if l.shell.Cluster.Events != nil {
		l.shell.Cluster.Events.Pod(l.now.Load().pod, at, event)
	}
}

// Delete takes that nothing is left of what the pod's object stands for.
func (l *living) Delete() { l.shell.mail.Post(roster.NothingLeft{UID: l.uid()}) }

// Rests takes that the pod has ended and holds nothing of the node any more.
func (l *living) Rests() { l.shell.mail.Post(roster.Rested{UID: l.uid()}) }

// Report takes a line of the pod's story.
func (l *living) Report(_ time.Time, r lifecycle.Report) {
	l.shell.Log.Info(r.String(), "pod", name(l.Worker.Pod()), "rule", r.Rule)
}
