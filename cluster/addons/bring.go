package addons

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (l *loop) applying(f *file, live map[string]bool) applying {
	path := f.path
	return applying{Config: l.Config, path: path, lastError: f.reported, id: setID(parentName(path)), live: live, kept: map[types.UID]string{}}
}

// bring brings the cluster in step with a file, if it is time to. It says how soon
// it wants to try again.
func (l *loop) bring(ctx context.Context, f *file, live map[string]bool) time.Duration {
	if f.done {
		return seldom
	}
	if wait := time.Until(f.due); wait > 0 {
		return wait
	}
	err := f.err
	if err == nil {
		err = l.applying(f, live).apply(ctx, f.objects)
	}
	if ctx.Err() != nil {
		return seldom
	}
	if err == nil {
		f.done, f.pause, f.reported = true, 0, ""
		l.Log.Info("add-on applied", "file", f.path, "objects", len(f.objects))
		return seldom
	}
	reported := l.report(ctx, f, err)
	if f.err != nil && reported {
		f.done = true // until it changes
		return seldom
	}
	f.failed(time.Now())
	return f.pause
}

// report tells what is wrong with a file, once: in the log, in the ConfigMap of the
// file, and by an event of that.
func (l *loop) report(ctx context.Context, f *file, err error) bool {
	if meta.IsNoMatchError(err) && f.pause == 0 {
		return true // its type is about to come
	}
	if f.reported == err.Error() {
		return true
	}
	l.Log.Error("add-on not applied", "file", f.path, "err", err)
	where, recordErr := l.recorded(ctx, f.path)
	if recordErr == nil {
		var parent *v1.ConfigMap
		parent, recordErr = l.record(ctx, where, Status{File: f.path, Message: err.Error(), Objects: len(f.objects)})
		if recordErr == nil {
			l.recorder.Eventf(parent, v1.EventTypeWarning, "AddonFailed", "%s: %v", f.path, err)
		}
	}
	if recordErr != nil {
		l.Log.Warn("add-ons", "file", f.path, "err", recordErr)
		return false
	}
	f.reported = err.Error()
	return true
}

// remove deletes what the cluster has of a file that is gone.
func (l *loop) remove(ctx context.Context, f *file, now time.Time, live map[string]bool) time.Duration {
	if f.gone.IsZero() {
		f.gone = now
	}
	if left := max(goneAfter-now.Sub(f.gone), time.Until(f.due)); left > 0 {
		return left
	}
	a := l.applying(f, live)
	where, err := l.recorded(ctx, f.path)
	if err == nil {
		err = a.prune(ctx, where)
	}
	if err == nil {
		err = l.Client.CoreV1().ConfigMaps(parentNamespace).Delete(ctx, parentName(f.path), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
	}
	if ctx.Err() != nil {
		return seldom
	}
	if err != nil {
		l.report(ctx, f, err)
		f.failed(now)
		return f.pause
	}
	l.Log.Info("add-on deleted, as its file is gone", "file", f.path)
	delete(l.files, f.path)
	return seldom
}
