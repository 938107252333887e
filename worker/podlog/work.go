package podlog

import (
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
		info, err := os.Stat(w.Path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return r.reopen(ctx, w.ContainerID)
		case err != nil || info.Size() <= r.policy.MaxBytes:
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
	if err == nil || !w.isWritten() {
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
