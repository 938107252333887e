package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/admission"
)

const (
	closeTimeout = 30 * time.Second // for the bundled runtime to stop
)

// Run runs the pod of the manifests from its start to its end and returns the
// exit code of the command. An error is lifepod's own: nothing of the pod is
// left then either.
func Run(ctx context.Context, o Options) (code int, err error) {
	set, err := readManifests(o)
	if err != nil {
		return ExitError, err
	}
	p := newPrinter(o, set.Pod)
	defer func() {
		p.close()
		if e := p.failure(); e != nil {
			code, err = ExitError, errors.Join(err, e)
		}
	}()
	for _, w := range set.Warnings {
		p.warn(w)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newStopper(p, set.Pod, cancel)
	defer s.close()

	if err := host.CheckStart(o.RuntimeEndpoint); err != nil {
		return ExitError, err
	}
	runtime, err := host.Open(ctx, o.Root, o.RuntimeEndpoint, o.Log)
	if err != nil {
		return s.exitCode(ExitError), s.unlessInterrupted(err)
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer done()
		if e := runtime.Close(closing); e != nil {
			code, err = ExitError, errors.Join(err, fmt.Errorf("stop the container runtime: %w", e))
		}
	}()
	r := runOf{options: o, printer: p, stopper: s}
	if err := r.meetUnattended(ctx, runtime, set); err != nil || ctx.Err() != nil {
		return s.exitCode(ExitError), s.unlessInterrupted(errors.Join(err, context.Cause(ctx)))
	}
	return live(ctx, runtime, set, r)
}

// meetUnattended goes on with the pod of the same manifests whose lifepod was killed,
// or ends it, for --new; it tells of the others, which are not to be touched here.
func (r *runOf) meetUnattended(ctx context.Context, runtime *host.Runtime, set *manifest.Set) (err error) {
	if r.options.New {
		err = r.endSameName(ctx, runtime, set.Pod)
	} else {
		r.left, err = takeOver(ctx, runtime, set, r.printer.warn)
	}
	if err != nil {
		return err
	}
	forgetUnbegun(ctx, runtime)
	if err := forgetScraps(runtime.Root); err != nil {
		r.printer.warn(fmt.Sprintf("remove what killed lifepods have left of records: %v", err))
	}
	others := slices.DeleteFunc(Left(runtime.Root), func(p unattended.Pod) bool {
		return p.Ended() || p.Namespace == set.Pod.Namespace && p.Name == set.Pod.Name // of which claim says more
	})
	if text := unattended.Notice(others); text != "" {
		r.printer.warn(text)
	}
	return nil
}

// runOf is what one run of the command holds.
type runOf struct {
	options Options
	printer *printer
	stopper *stopper
	left    *takenOver // nil: the pod is new
}

// live is the pod's life, on a runtime that answers.
func live(ctx context.Context, runtime *host.Runtime, set *manifest.Set, r runOf) (int, error) {
	if err := os.MkdirAll(host.LogRoot(runtime.Root), 0o750); err != nil { // pods' names are nobody's business
		return ExitError, fmt.Errorf("log folder: %w", err)
	}
	features, err := runtime.Features(ctx)
	if err != nil {
		return r.stopper.exitCode(ExitError), r.stopper.unlessInterrupted(err)
	}
	objects := objectsOf(set)
	node, err := r.newNode(runtime, set, objects, features)
	if err != nil {
		return ExitError, err
	}
	for _, text := range admission.Unenforced(set.Pod, *node.Admission) {
		r.printer.warn(text)
	}
	own, err := r.claim(runtime, set)
	if err != nil {
		return ExitError, err
	}
	follow := newFollower(r.printer, node.Config.PodLogDirectory(set.Pod))
	follow.already = own.shown
	r.printer.stdout.memory.Store(own.shown)
	object := control.NewObject(set.Pod)
	to := r.newSink(follow, object)
	worker, err := r.newWorker(node, set.Pod, to, own)
	if err != nil {
		r.giveUp(own)
		return ExitError, err
	}
	if r.left != nil {
		object.Resume(worker.Machine(), time.Now())
	}
	server, err := serve(runtime, object, worker, servedFrom{logDir: node.Config.PodLogDirectory(set.Pod), log: r.options.Log})
	if err != nil {
		r.giveUp(own)
		return ExitError, err
	}
	defer server.Close()

	err = r.lead(ctx, life{
		node: node, worker: worker, object: object,
		reload: &reloader{options: r.options, running: set, objects: objects, post: worker.Post, warn: r.printer.warn},
	})
	follow.wait()
	r.printer.endCountDown()
	if r.options.Keep {
		r.printer.kept(filepath.Join(node.PodsDir, string(set.Pod.UID)), node.Config.PodLogDirectory(set.Pod))
	}
	if err != nil { // its record stays: the pod is unattended
		return ExitError, err
	}
	own.remove()
	if err := errors.Join(r.endStrays(runtime), r.stopper.failure(set.Pod)); err != nil {
		return ExitError, err
	}
	return exitCode(worker.End(), r.printer.status().Phase, r.stopper.exitCode(ExitInterrupted)), nil
}

// newSink is where the worker tells what happens.
func (r runOf) newSink(follow *follower, object *control.Object) *sink {
	to := &sink{printer: r.printer, follower: follow, object: object}
	if r.options.FailFast {
		to.blocked = r.stopper.blocked
	}
	return to
}

// newNode is this machine for the pods of the manifests.
func (r runOf) newNode(runtime *host.Runtime, set *manifest.Set, objects *objects, features cri.Features) (*worker.Node, error) {
	return host.NewNode(host.NodeConfig{
		Runtime: runtime.Client, RuntimeName: runtime.Name, Content: runtime.Content(),
		Root: runtime.Root, CgroupParent: runtime.CgroupParent, Systemd: runtime.Systemd, IPAMDir: runtime.IPAMDir,
		Objects: objects, Features: features,
		RuntimeClasses: runtimeClasses{classes: set.RuntimeClasses, handlers: features.Handlers},
		UnsafeSysctls:  r.options.UnsafeSysctls, KeepFiles: r.options.Keep, Logs: r.options.Logs,
		PullProgress: r.printer.pullProgress, Log: r.options.Log,
	})
}

// life is a pod and what goes on beside it until its end.
type life struct {
	node   *worker.Node
	worker *worker.Worker
	object *control.Object
	reload *reloader // nil: there are no manifests
}

// lead lives a pod's life to its end, or until it is given up.
func (r runOf) lead(ctx context.Context, l life) error {
	until, giveUp := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends when the pod is gone, not before
	defer giveUp(nil)
	r.stopper.attach(noted{object: l.object, worker: l.worker}, giveUp, r.options.Timeout)
	return l.live(ctx, until)
}

// live lives the pod's life to its end, or until that context ends.
func (l life) live(ctx, until context.Context) error {
	events, streaming := l.node.Events(), sync.WaitGroup{}
	events.Add(l.worker)
	streamCtx, stopStream := context.WithCancel(context.WithoutCancel(ctx))
	streaming.Go(func() { events.Run(streamCtx) })
	streaming.Go(func() { l.node.Logs.Run(streamCtx) })
	if l.reload != nil {
		streaming.Go(func() { l.reload.run(streamCtx) })
	}
	err := l.worker.Run(until)
	if err == nil {
		l.object.Gone()
	}
	stopStream()
	streaming.Wait()
	return err
}

// readManifests reads and checks all files before anything is started.
func readManifests(o Options) (*manifest.Set, error) {
	var sources []manifest.Source
	for _, name := range o.Files {
		source := manifest.Source{Name: name}
		var err error
		if name == "-" {
			source.Name = "<stdin>"
			source.Data, err = io.ReadAll(o.Stdin)
		} else {
			source.Data, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		sources = append(sources, source)
	}
	set, err := manifest.Read(sources, manifest.Options{Name: o.Name})
	if err != nil {
		return nil, err
	}
	set.Pod.Spec.NodeName = host.Name()
	if err := publishPorts(set.Pod, o.Ports); err != nil {
		return nil, err
	}
	return set, checkReachable(o, set.Pod)
}

var _ worker.Sink = (*sink)(nil)
