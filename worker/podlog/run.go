package podlog

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"
)

// Run rotates until ctx ends. Call it once.
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
		case <-timer.C:
		case event := <-writes.events:
			writes.wake(event.Name, time.Now())
		case err := <-writes.errors: // events were lost: the next check is not far
			r.log.Debug("watch logs for writes", "err", err)
		}
		timer.Reset(time.Until(r.checkDue(time.Now(), writes)))
	}
}

// checkDue looks at the logs that are due and returns when the next one is.
func (r *Rotator) checkDue(now time.Time, writes *writes) time.Time {
	next := now.Add(longest)
	for _, w := range r.written(writes) {
		if !w.due.After(now) {
			r.check(w, now, writes)
		}
		if w.due.Before(next) {
			next = w.due
		}
	}
	return next
}

// written are the logs that are written; of others the kernel tells no more.
func (r *Rotator) written(writes *writes) (logs []*rotating) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range writes.quiet {
		if !w.isWritten() {
			w.rouse(writes)
		}
	}
	for _, p := range r.pods {
		logs = slices.AppendSeq(logs, maps.Values(p.logs))
	}
	return logs
}

// check looks at one log: it is rotated if it is too large, and opened anew if
// it is missing. A failed attempt is made again at a later check.
func (r *Rotator) check(w *rotating, now time.Time, writes *writes) {
	info, err := os.Stat(w.Path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		r.note(w, &w.looks, err)
	}
	size := int64(0)
	if err == nil {
		size = info.Size()
	}
	grew := w.position.move(size, missing, now)
	switch {
	case missing || size > r.policy.MaxBytes:
		w.rouse(writes)
		w.due = now.Add(max(r.rotate(w), w.position.patience()))
	case err != nil:
		w.rouse(writes)
		w.due = now.Add(active)
	case grew:
		w.rouse(writes)
		w.due = now.Add(w.position.wait(r.policy.MaxBytes))
	default:
		w.due = w.rest(info, now, writes)
	}
}

// rest has the kernel tell of the next write to a log that did not grow, and
// returns when it is looked at if nothing is reported.
func (w *rotating) rest(info os.FileInfo, now time.Time, writes *writes) time.Time {
	if w.quiet != nil && os.SameFile(w.quiet, info) {
		return quietUntil(now)
	}
	w.rouse(writes)
	if !writes.watch(w.Path) {
		return now.Add(active)
	}
	w.quiet, writes.quiet[w.Path] = info, w
	after, err := os.Stat(w.Path)
	if err != nil || after.Size() != info.Size() || !os.SameFile(after, info) { // the kernel may watch another file
		w.rouse(writes)
		return now.Add(active)
	}
	return quietUntil(now)
}

// quietUntil is when quiet logs are looked at next: many of them at the same time, so that
// few looks wake the process.
func quietUntil(now time.Time) time.Time {
	return now.Add(longest - time.Duration(now.Nanosecond()))
}

// rouse ends the kernel's notices of a quiet log.
func (w *rotating) rouse(writes *writes) {
	if w.quiet != nil {
		writes.forget(w.Path)
		delete(writes.quiet, w.Path)
		w.quiet = nil
	}
}
