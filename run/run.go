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

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
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
	if err := telemetry.Check(ctx); err != nil {
		return ExitError, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newStopper(p, set.Pod, cancel)
	defer s.close()

	if err := host.CheckStart(o.RuntimeEndpoint); err != nil {
		return ExitError, err
	}
	runtime, err := host.OpenWith(ctx, o.RuntimeEndpoint, bundle.Config{Root: o.Root, OCIRuntime: o.OCIRuntime, Log: o.Log})
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
	r := runOf{options: o, runtime: runtime, printer: p, stopper: s}
	if err := r.meetUnattended(ctx, set); err != nil || ctx.Err() != nil {
		return s.exitCode(ExitError), s.unlessInterrupted(errors.Join(err, context.Cause(ctx)))
	}
	return r.live(ctx, set)
}

// meetUnattended goes on with the pod of the same manifests whose lifepod was killed,
// or ends it, for --new; it tells of the others, which are not to be touched here.
func (r *runOf) meetUnattended(ctx context.Context, set *manifest.Set) (err error) {
	if r.options.New {
		err = r.endSameName(ctx, set.Pod)
	} else {
		r.left, err = takeOver(ctx, r.runtime, set, r.printer.warn)
	}
	if err != nil {
		return err
	}
	forgetUnbegun(ctx, r.runtime)
	if err := forgetScraps(r.runtime.Root); err != nil {
		r.printer.warn(fmt.Sprintf("remove what killed lifepods have left of records: %v", err))
	}
	others := slices.DeleteFunc(Left(r.runtime.Root), func(p unattended.Pod) bool {
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
	runtime *host.Runtime
	printer *printer
	stopper *stopper
	left    *takenOver // nil: the pod is new
	sent    *sent      // nil: nothing is sent
}

// live is the pod's life, on a runtime that answers.
func (r runOf) live(ctx context.Context, set *manifest.Set) (int, error) {
	if err := rootfolder.Ensure(host.LogRoot(r.runtime.Root), 0o750); err != nil { // pods' names are nobody's business
		return ExitError, fmt.Errorf("log folder: %w", err)
	}
	features, err := r.runtime.Features(ctx)
	if err != nil {
		return r.stopper.exitCode(ExitError), r.stopper.unlessInterrupted(err)
	}
	objects := objectsOf(set)
	node, err := r.newNode(set, objects, features)
	if err != nil {
		return ExitError, err
	}
	if r.sent, err = r.openTelemetry(ctx, node, set.Pod); err != nil {
		return ExitError, err
	}
	gone := false
	defer func() { r.sent.end(ctx, gone) }()
	for _, text := range admit.Unenforced(set.Pod, *node.Admission.Host) {
		r.printer.warn(text)
	}
	own, err := r.claim(set)
	if err != nil {
		return ExitError, err
	}
	follow := newFollower(r.printer, node.Config.PodLogDirectory(set.Pod))
	follow.already = own.shown
	r.printer.stdout.memory.Store(own.shown)
	life, err := r.newLife(node, set.Pod, r.newSink(follow), own)
	if err != nil {
		r.giveUp(own)
		return ExitError, err
	}
	defer life.Close()
	reload := &reloader{options: r.options, running: set, objects: objects, post: life.Worker.Post, warn: r.printer.warn}

	until, giveUp := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends when the pod is gone, not before
	defer giveUp(nil)
	r.stopper.attach(life, giveUp, r.options.Timeout)
	r.openView(life)
	defer r.printer.closeView()
	err = lead(until, node, life, reload.run)
	follow.wait()
	r.printer.closeView()
	r.printer.endCountDown()
	if r.options.Keep {
		r.printer.kept(filepath.Join(node.Folders.Pods, string(set.Pod.UID)), node.Config.PodLogDirectory(set.Pod))
	}
	if err != nil { // its record stays: the pod is unattended
		return ExitError, err
	}
	own.remove()
	gone = true
	if err := errors.Join(r.endStrays(), r.stopper.failure(set.Pod)); err != nil {
		return ExitError, err
	}
	return exitCode(life.Worker.End(), r.printer.status().Phase, r.stopper.exitCode(ExitInterrupted)), nil
}

// newSink is where the worker tells what happens.
func (r runOf) newSink(follow *follower) *sink {
	to := &sink{printer: r.printer, follower: follow, sent: r.sent}
	if r.options.FailFast {
		to.blocked = r.stopper.blocked
	}
	return to
}

// newNode is this machine for the pods of the manifests.
func (r runOf) newNode(set *manifest.Set, objects *objects, features cri.Features) (*worker.Engine, error) {
	node, err := host.NewNode(host.NodeConfig{
		Runtime: r.runtime.Client, RuntimeName: r.runtime.Name, Containerd: r.runtime.ContainerdAPI(),
		Root: r.runtime.Root, CgroupParent: r.runtime.CgroupParent, Systemd: r.runtime.Systemd, IPAMDir: r.runtime.IPAMDir,
		Objects: objects, Features: features,
		RuntimeClasses: runtimeClasses{classes: set.RuntimeClasses, handlers: features.Handlers},
		UnsafeSysctls:  r.options.UnsafeSysctls, KeepFiles: r.options.Keep, Logs: r.options.Logs,
		PullProgress: r.printer.pullProgress, Log: r.options.Log,
	})
	if err != nil {
		return nil, err
	}
	node.Handler = r.runtime.Handler
	if node.Config.Users, err = usersOf(set.Pod, "/etc"); err != nil && r.left == nil { // one that is taken over has its block
		return nil, err
	}
	if r.printer.view != nil {
		node.Now = r.printer.now
	}
	return node, nil
}

// newLife is the life of a new pod, or of the one that is taken over. The commands of other
// terminals see and steer it.
func (r runOf) newLife(node *worker.Engine, pod *v1.Pod, to worker.Sink, own *record) (life *pods.Life, err error) {
	if r.left == nil {
		life = pods.NewLife(node, pod, to)
	} else if life, err = pods.ResumeLife(node, pod, to, r.left.from); err != nil {
		return nil, err
	}
	life.Worker.Remember(own.memory)
	paths, err := bundle.Locate(r.runtime.Root, "")
	if err != nil {
		return nil, err
	}
	return life, life.Serve(control.Config{Folder: control.Folder(paths.RunDir), Admission: admitter{}})
}

// lead lives a pod's life to its end, or until ctx ends, and runs what goes on beside it.
func lead(ctx context.Context, node *worker.Engine, life *pods.Life, beside ...func(context.Context)) error {
	events, running := node.Events(nil), sync.WaitGroup{}
	besideCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	for _, run := range append(beside, events.Run, node.Logs.Run, node.KeepJournal) {
		running.Go(func() { run(besideCtx) })
	}
	err := life.Run(ctx, events)
	stop()
	running.Wait()
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
