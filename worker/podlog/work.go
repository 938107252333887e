package podlog

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"
)

// rotate rotates one log beside Run, if that is not under way, and returns when
// the log is to be looked at again. The log is looked at once more: a rotation that
// was under way at the check, whose file is missing meanwhile, may be done by now. To
// have the new file opened a second time would mix up the lines that the runtime
// has not written yet.
func (r *Rotator) rotate(w *rotating) time.Duration {
	next := shortest
	if r.hasFailed(w) {
		next = longest
	}
	r.begin(w, &w.rotation, func(ctx context.Context) error {
		size, err := sizeOnDisk(w.Path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return r.reopen(ctx, w.ContainerID)
		case err != nil || size <= r.policy.MaxBytes:
			return err
		}
		if err := rotate(ctx, w.RotatedLog, r.policy, r.reopen); err != nil {
			return err
		}
		r.compress(w)
		return nil
	})
	return next
}

// compress compresses a log's older files, one log at a time on the whole node.
func (r *Rotator) compress(w *rotating) {
	r.begin(w, &w.compression, func(ctx context.Context) error {
		select {
		case r.compressing <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		defer func() { <-r.compressing }()
		if err := removeUnfinished(w.Path); err != nil { // what a crash left
			return err
		}
		if err := compressOlder(ctx, w.Path); err != nil {
			return err
		}
		return removeOldest(w.Path, r.policy.MaxFiles-1)
	})
}

// begin starts work on a log, unless such work is under way or its pod is gone.
func (r *Rotator) begin(w *rotating, j *job, work func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j.underWay || w.pod.ctx.Err() != nil {
		return
	}
	j.underWay = true
	w.pod.work.Go(func() {
		err := work(w.pod.ctx)
		r.mu.Lock()
		j.underWay = false
		r.mu.Unlock()
		r.note(w, j, err)
	})
}

// note tells of a failure that came twice, once as long as it is the same: a
// container may end while its log is rotated, and then nothing is wrong.
func (r *Rotator) note(w *rotating, j *job, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || w.pod.ctx.Err() != nil || w.pod.logs[w.ContainerID] != w {
		j.failures, j.logged = 0, ""
		return
	}
	j.failures++
	if j.failures > 1 && j.logged != err.Error() {
		j.logged = err.Error()
		r.log.Warn("rotate a container's log, trying again", slog.String("log", w.Path), slog.String("err", err.Error()))
	}
}

func (r *Rotator) hasFailed(w *rotating) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.rotation.failures > 0
}

// schedule are the logs that Run looks at.
type schedule struct {
	next   byDue
	byPath map[string]*rotating
}

func newSchedule() *schedule { return &schedule{byPath: map[string]*rotating{}} }

// add adds a log, which is due at once.
func (s *schedule) add(w *rotating) {
	heap.Push(&s.next, w)
	s.byPath[w.Path] = w
}

// remove forgets a log.
func (s *schedule) remove(w *rotating) {
	heap.Remove(&s.next, w.place)
	if s.byPath[w.Path] == w {
		delete(s.byPath, w.Path)
	}
}

// first is the log that is due first; nil: there is none.
func (s *schedule) first() *rotating {
	if len(s.next) == 0 {
		return nil
	}
	return s.next[0]
}

// moved takes that a log is due at another time.
func (s *schedule) moved(w *rotating) { heap.Fix(&s.next, w.place) }

// wake is told of a write to a quiet log, or that its file is another one.
func (s *schedule) wake(path string, now time.Time, writes *writes) {
	w := s.byPath[path]
	if w == nil || w.quiet == nil {
		return
	}
	w.rouse(writes)
	w.due = now.Add(shortest)
	s.moved(w)
}

// byDue is a heap (container/heap).
type byDue []*rotating

// Len implements heap.Interface.
func (b byDue) Len() int { return len(b) }

// Less implements heap.Interface.
func (b byDue) Less(i, j int) bool { return b[i].due.Before(b[j].due) }

// Swap implements heap.Interface.
func (b byDue) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}

// Push implements heap.Interface.
func (b *byDue) Push(x any) {
	w := x.(*rotating)
	w.place = len(*b)
	*b = append(*b, w)
}

// Pop implements heap.Interface.
func (b *byDue) Pop() any {
	last := len(*b) - 1
	w := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return w
}
