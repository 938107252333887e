package podlog

import (
	"context"
	"errors"
	"os"
	"time"
)

// Run rotates until ctx ends. Call it once.
func (r *Rotator) Run(ctx context.Context) {
	writes := newWrites()
	defer writes.close()
	logs := newSchedule()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.news:
			r.takeNews(logs, writes)
		case <-timer.C:
		case event := <-writes.events:
			logs.wake(event.Name, time.Now(), writes)
		case err := <-writes.errors: // events were lost: the next check is not far
			r.log.Debug("watch logs for writes", "err", err)
		}
		timer.Reset(time.Until(r.checkDue(logs, time.Now(), writes)))
	}
}

// takeNews takes the logs that are new, and forgets those that are not written any more.
func (r *Rotator) takeNews(logs *schedule, writes *writes) {
	r.mu.Lock()
	began, ended := r.began, r.ended
	r.began, r.ended = nil, nil
	r.mu.Unlock()
	for _, w := range began { // before the others are forgotten: it may be over already
		logs.add(w)
	}
	for _, w := range ended {
		logs.remove(w)
		w.rouse(writes)
	}
}

// checkDue looks at the logs that are due and returns when the next one is.
func (r *Rotator) checkDue(logs *schedule, now time.Time, writes *writes) time.Time {
	for {
		w := logs.first()
		if w == nil {
			return now.Add(longest)
		}
		if w.due.After(now) {
			return w.due
		}
		r.check(w, now, writes)
		logs.moved(w)
	}
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
	w.quiet = info
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
		w.quiet = nil
	}
}

func sizeOnDisk(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
