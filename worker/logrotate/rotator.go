package logrotate

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/apimachinery/pkg/types"
)

// Rotator rotates the logs of a node's running containers. Make it with New,
// tell it of each pod's running containers with Watch, run it with Run.
type Rotator struct {
	// immutable
	policy Policy
	reopen Reopen
	log    *slog.Logger

	news        chan struct{} // holds a value when the logs to watch have changed
	compressing chan struct{} // one file at a time is compressed

	mu    sync.Mutex
	pods  map[types.UID]*podLogs
	ended []string // logs of containers that don't run any more, for Run to forget
}

// podLogs are the logs of one pod's running containers. What is at work on them
// ends with ctx, and is waited for.
type podLogs struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	logs   map[string]*watched // by container ID
}

// watched is one log.
type watched struct {
	// immutable
	Log
	pod *podLogs

	// owned by Run
	position position
	quiet    bool // the kernel tells of the next write
	due      time.Time

	// guarded by the Rotator's mutex
	looks, rotation, compression job
}

// job is one kind of work on a log.
type job struct {
	underWay bool
	failures int    // in a row
	told     string // the failure that was told last
}

// New prepares a rotator; reopen may be called for several containers at once.
func New(policy Policy, reopen Reopen, log *slog.Logger) *Rotator {
	return &Rotator{
		policy: policy, reopen: reopen, log: log,
		news: make(chan struct{}, 1), compressing: make(chan struct{}, 1),
		pods: map[types.UID]*podLogs{},
	}
}

// Watch says which logs of a pod are written: those that are not named are left
// alone from now on. It does not block.
func (r *Rotator) Watch(pod types.UID, logs []Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[pod]
	if p == nil && len(logs) == 0 {
		return // it has left, or writes nothing yet
	}
	if p == nil {
		p = &podLogs{logs: map[string]*watched{}}
		p.ctx, p.cancel = context.WithCancel(context.Background())
		r.pods[pod] = p
	}
	running := map[string]*watched{}
	for _, l := range logs {
		w := p.logs[l.ContainerID]
		if w == nil {
			w = &watched{Log: l, pod: p}
			r.tell()
		}
		running[l.ContainerID] = w
		delete(p.logs, l.ContainerID)
	}
	r.end(p)
	p.logs = running
}

// end has Run forget the logs that a pod has left.
func (r *Rotator) end(p *podLogs) {
	for _, w := range p.logs {
		r.ended = append(r.ended, w.Path)
		r.tell()
	}
}

// Leave forgets a pod and returns when nothing is at work on its logs any more.
func (r *Rotator) Leave(pod types.UID) {
	r.mu.Lock()
	p := r.pods[pod]
	delete(r.pods, pod)
	if p != nil {
		r.end(p)
		p.cancel()
	}
	r.mu.Unlock()
	if p != nil {
		p.work.Wait()
	}
}

// tell has Run look at what has changed.
func (r *Rotator) tell() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Run rotates until ctx ends.
func (r *Rotator) Run(ctx context.Context) {
	writes := newWrites()
	defer writes.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.news:
			r.forget(writes)
		case <-timer.C:
		case event := <-writes.events:
			if event.Has(fsnotify.Write) {
				r.wake(event.Name, writes)
			}
		case err := <-writes.errors: // events were lost: the next check is not far
			r.log.Debug("watch logs for writes", "err", err)
		}
		timer.Reset(time.Until(r.checkAll(writes)))
	}
}

// wake is told of a write to a quiet log.
func (r *Rotator) wake(path string, writes *writes) {
	now := time.Now()
	for _, w := range r.all() {
		if w.Path == path && w.quiet {
			writes.forget(path)
			w.quiet = false
			w.due = now.Add(shortest)
		}
	}
}

// forget ends the kernel's notices of logs that are not written any more.
func (r *Rotator) forget(writes *writes) {
	r.mu.Lock()
	ended := r.ended
	r.ended = nil
	r.mu.Unlock()
	for _, path := range ended {
		writes.forget(path)
	}
}

func (r *Rotator) all() []*watched {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*watched
	for _, p := range r.pods {
		for _, w := range p.logs {
			all = append(all, w)
		}
	}
	return all
}

// checkAll looks at the logs that are due and returns when the next one is.
func (r *Rotator) checkAll(writes *writes) time.Time {
	now := time.Now()
	next := now.Add(longest)
	for _, w := range r.all() {
		if !w.due.After(now) {
			r.check(w, now, writes)
		}
		if w.due.Before(next) {
			next = w.due
		}
	}
	return next
}

// check looks at one log: it is rotated if it is too large, and opened anew if
// it is missing. A failed attempt is made again at a later check.
func (r *Rotator) check(w *watched, now time.Time, writes *writes) {
	if w.position.at.IsZero() {
		r.tidy(w)
	}
	if w.quiet { // its file may be another one by now
		writes.forget(w.Path)
		w.quiet = false
	}
	size, err := sizeOf(w.Path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		r.note(w, &w.looks, err)
	}
	grew := w.position.move(size, now)
	switch {
	case missing || size > r.policy.MaxBytes:
		w.due = now.Add(r.rotate(w))
	case grew:
		w.due = now.Add(w.position.wait(r.policy.MaxBytes))
	default:
		w.due = now.Add(r.rest(w, size, writes))
	}
}

// rest has the kernel tell of the next write to a log that did not grow, and
// returns when it is looked at if nothing is told.
func (r *Rotator) rest(w *watched, size int64, writes *writes) time.Duration {
	w.quiet = writes.watch(w.Path)
	after, err := sizeOf(w.Path)
	if !w.quiet || err != nil || after != size {
		return active
	}
	return longest
}

// tidy removes what a crash left.
func (r *Rotator) tidy(w *watched) {
	if err := removeUnfinished(w.Path); err != nil {
		r.note(w, &w.looks, err)
	}
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
