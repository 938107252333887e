package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
)

// lives are the pods of one run, side by side on one node.
type lives struct {
	options Options
	runtime *host.Runtime
	printer *printer
	stopper *stopper
	group   *manifest.Group
	first   []*runOf // those that begin with the run

	mu      sync.Mutex
	results results
}

// results are what has become of pods so far.
type results struct {
	code int // of the first that did not succeed
	errs []error
}

// meetUnattended goes on with pods of the same manifests whose lifepod was killed,
// or ends them, for --new; it tells of the others, which are not to be touched here.
func (l *lives) meetUnattended(ctx context.Context) error {
	for _, set := range l.group.Sets {
		r := &runOf{options: l.options, runtime: l.runtime, stopper: l.stopper, set: set}
		l.first = append(l.first, r)
		if err := r.meetUnattended(ctx, l.printer.warn); err != nil {
			return err
		}
		r.printer = l.printer.of(set.Pod, l.nameOf(set.Pod))
	}
	forgetUnbegun(ctx, l.runtime)
	if err := forgetScraps(l.runtime.Root); err != nil {
		l.printer.warn(fmt.Sprintf("remove what killed lifepods have left of records: %v", err))
	}
	others := slices.DeleteFunc(Left(l.runtime.Root), func(p unattended.Pod) bool {
		return p.Ended() || slices.ContainsFunc(l.group.Sets, func(set *manifest.Set) bool {
			return p.Namespace == set.Pod.Namespace && p.Name == set.Pod.Name // of which claim says more
		})
	})
	if text := unattended.Notice(others); text != "" {
		l.printer.warn(text)
	}
	return nil
}

// meetUnattended goes on with the pod of the same manifest whose lifepod was killed, or ends it, for --new.
func (r *runOf) meetUnattended(ctx context.Context, warn func(string)) (err error) {
	if r.options.New {
		return r.endSameName(ctx, warn)
	}
	r.left, err = takeOver(ctx, r.runtime, r.set, warn)
	return err
}

// leave leaves pods that were met, and with which nobody goes on here, to the next lifepod.
func (l *lives) leave() {
	for _, r := range l.first {
		if r.left != nil {
			r.left.record.leave()
		}
	}
}

// nameOf is what the lines of a pod begin with.
func (l *lives) nameOf(pod *v1.Pod) string {
	for _, set := range l.group.Sets {
		if set.Pod.Namespace != pod.Namespace {
			return pod.Namespace + "/" + pod.Name
		}
	}
	return pod.Name
}

// run is the pods' life, on a runtime that answers.
func (l *lives) run(ctx context.Context) (int, error) {
	if err := rootfolder.Ensure(host.LogRoot(l.runtime.Root), 0o750); err != nil { // pods' names are nobody's business
		l.leave()
		return ExitError, fmt.Errorf("log folder: %w", err)
	}
	features, err := l.runtime.Features(ctx)
	if err != nil {
		l.leave()
		return l.stopper.exitCode(ExitError), l.stopper.unlessInterrupted(err)
	}
	objects := objectsOf(l.group.Sets...)
	node, err := newNode(l.options, l.runtime, l.group.Sets[0].RuntimeClasses, objects, features)
	if err == nil {
		err = l.prepare(ctx, node)
	}
	if err != nil {
		l.leave()
		return ExitError, err
	}
	reload := &reloader{options: l.options, objects: objects, warn: l.printer.warn}
	for _, r := range l.first {
		reload.pods = append(reload.pods, &reloaded{set: r.set, post: r.life.Worker.Post, warn: r.printer.warn})
	}

	until, giveUp := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends when the pods are gone, not before
	defer giveUp(nil)
	l.stopper.attach(l, giveUp, l.options.Timeout)
	l.openView()
	defer l.printer.closeView()
	err = lead(until, node, l.live, reload.run)
	l.printer.closeView()
	l.printer.endCountDown()
	if l.options.Keep {
		for _, r := range l.first {
			r.printer.kept(filepath.Join(node.Folders.Pods, string(r.set.Pod.UID)), node.Config.PodLogDirectory(r.set.Pod))
		}
	}
	if err := errors.Join(err, l.stopper.failure()); err != nil {
		return ExitError, err
	}
	return l.results.code, nil
}

// prepare has all pods ready to begin, or none.
func (l *lives) prepare(ctx context.Context, node *worker.Engine) error {
	for i, r := range l.first {
		if err := r.prepare(ctx, node); err != nil {
			for _, before := range l.first[:i] {
				before.life.Close()
				before.giveUp()
				before.sent.end(ctx, false)
			}
			return err
		}
	}
	return nil
}

// live has the pods live until all have ended.
func (l *lives) live(ctx context.Context, events *worker.Events) error {
	var all sync.WaitGroup
	for _, r := range l.first {
		all.Go(func() { l.ended(r.live(ctx, events)) })
	}
	all.Wait()
	return errors.Join(l.results.errs...)
}

// ended takes what has become of a pod. Given up, all say the same.
func (l *lives) ended(code int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.results.code == 0 {
		l.results.code = code
	}
	if err != nil && !slices.Contains(l.results.errs, err) {
		l.results.errs = append(l.results.errs, err)
	}
}

// Stop asks for the end of all pods.
func (l *lives) Stop(request lifecycle.StopRequested) {
	for _, r := range l.first {
		r.life.Stop(request)
	}
}
