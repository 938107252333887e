package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
)

const (
	closeTimeout = 30 * time.Second // for the bundled runtime to stop
)

// Run runs the pods of the manifests from their start to their end and returns the
// exit code of the command. An error is lifepod's own: nothing of the pods is
// left then either.
func Run(ctx context.Context, o Options) (code int, err error) {
	seen := o.look()
	group, err := readManifests(o)
	if err != nil {
		return ExitError, err
	}
	p := newPrinter(o, shownPods(group)...)
	l := &lives{options: o, printer: p, group: group, seen: seen, ending: make(chan struct{})}
	defer func() {
		p.ended(code, l.cause(code), err)
		p.close()
		if e := p.failure(); e != nil {
			code, err = ExitError, errors.Join(err, e)
		}
	}()
	for _, w := range group.Warnings {
		p.warn("%s", w)
	}
	for _, w := range group.Workloads {
		p.concerning(fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name), p.options.Language.Count(w.Pods, "pod"))
	}
	if err := telemetry.Check(ctx); err != nil {
		return ExitError, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newStopper(p, podsOf(group), cancel)
	l.stopper = s
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
	l.runtime = runtime
	if err := l.meetUnattended(ctx); err != nil || ctx.Err() != nil {
		l.leave()
		return s.exitCode(ExitError), s.unlessInterrupted(errors.Join(err, context.Cause(ctx)))
	}
	return l.run(ctx)
}

// podsOf are the pods of a run, and one for those of each Job.
func podsOf(group *manifest.Group) (list []*v1.Pod) {
	for _, set := range group.All() {
		list = append(list, set.Pod)
	}
	return list
}

// shownPods are those that are known before the run: a Job has as many as it needs.
func shownPods(group *manifest.Group) []*v1.Pod {
	if len(group.Jobs) > 0 {
		return nil
	}
	return podsOf(group)
}

// runOf is what a run of the command holds of one pod.
type runOf struct {
	options  Options
	runtime  *host.Runtime
	printer  *printer
	stopper  *stopper
	set      *manifest.Set
	left     *takenOver // nil: the pod is new
	sent     *sent      // nil: nothing is sent
	services *services  // nil: the run has none

	// from prepare on
	own    *record
	life   *pods.Life // nil: the pod waits for its turn
	follow *follower
	begun  bool // its life takes facts; guarded by lives.mu

	cause       line                // of its exit code
	status      func(*v1.PodStatus) // takes each status; nil: nobody does
	ready, over chan struct{}       // closed when the pod was Ready for the first time; when it has ended, or never begins
	readyOnce   sync.Once
}

func newRunOf(l *lives, set *manifest.Set) *runOf {
	return &runOf{
		options: l.options, runtime: l.runtime, stopper: l.stopper, set: set, services: l.services,
		ready: make(chan struct{}), over: make(chan struct{}),
	}
}

// isNow takes a status, and notes when the pod is Ready.
func (r *runOf) isNow(status *v1.PodStatus) {
	if isReady(status) {
		r.readyOnce.Do(func() { close(r.ready) })
	}
	r.services.isNow(r.set.Pod, status)
	if r.status != nil {
		r.status(status)
	}
}

func isReady(status *v1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// prepare makes all that the pod's life needs: it can begin. If it can't, nothing of it is there.
func (r *runOf) prepare(ctx context.Context, node *worker.Engine) (err error) {
	if node, err = r.nodeFor(node); err != nil {
		return err
	}
	pod := r.set.Pod
	if r.printer.format.Of != nil {
		r.printer.format.Of = pod // one that is taken over has its UID
	}
	if r.sent, err = r.openTelemetry(ctx, node, pod); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.sent.end(ctx, false)
		}
	}()
	if admit.LacksSELinux(pod, *node.Admission.Host) {
		r.printer.warn("seLinuxOptions have no effect: SELinux is not enabled on this machine")
	}
	if r.own, err = r.claim(); err != nil {
		return err
	}
	r.follow = newFollower(r.printer, node.Config.PodLogDirectory(pod))
	r.follow.already = r.own.shown
	r.printer.memory.Store(r.own.shown)
	life, err := r.newLife(node, r.newSink())
	if err != nil {
		r.giveUp()
		return err
	}
	r.life = life
	if r.left != nil {
		r.isNow(&r.left.from.Reported)
	}
	return nil
}

// live is the pod's life, to its end. The answer is its exit code; an error is lifepod's own, and may leave the pod
// unattended.
func (r *runOf) live(ctx context.Context, events *worker.Events) (code int, err error) {
	gone := false
	defer func() { r.sent.end(ctx, gone) }()
	defer r.life.Close()
	err = r.life.Run(ctx, events)
	r.follow.wait()
	if err != nil { // its record stays: the pod is unattended
		return ExitError, err
	}
	r.own.remove()
	gone = true
	if err := r.endStrays(); err != nil {
		return ExitError, err
	}
	end, status := r.life.Worker.End(), r.printer.status()
	r.cause = causeOf(r.set.Pod, end, &status)
	return exitCode(end, status.Phase, r.stopper.exitCode(ExitInterrupted)), nil
}

// newSink is where the worker tells what happens.
func (r *runOf) newSink() *sink {
	to := &sink{printer: r.printer, follower: r.follow, sent: r.sent, status: r.isNow}
	if r.options.FailFast {
		to.blocked = func(why string) { r.stopper.blocked(r.set.Pod, why) }
	}
	return to
}

// newNode is this machine for the pods of the manifests.
func newNode(o Options, runtime *host.Runtime, classes []*nodev1.RuntimeClass, objects *objects, features cri.Features) (*worker.Engine, error) {
	node, err := host.NewNode(host.NodeConfig{
		Runtime: runtime.Client, RuntimeName: runtime.Name, Containerd: runtime.ContainerdAPI(),
		Root: runtime.Root, CgroupParent: runtime.CgroupParent, Systemd: runtime.Systemd, IPAMDir: runtime.IPAMDir,
		Objects: objects, Features: features,
		RuntimeClasses: runtimeClasses{classes: classes, handlers: features.Handlers},
		UnsafeSysctls:  o.UnsafeSysctls, KeepFiles: o.Keep, Logs: o.Logs, Log: o.Log,
	})
	if err == nil {
		node.Handler = runtime.Handler
	}
	return node, err
}

// nodeFor is the machine for this pod: all is shared with the other pods, but for the printer and the range of user IDs.
func (r *runOf) nodeFor(all *worker.Engine) (_ *worker.Engine, err error) {
	node := *all
	node.PullProgress = r.printer.pullProgress
	if node.Config.Users, err = usersOf(r.set.Pod, "/etc"); err != nil && r.left == nil { // one that is taken over has its block
		return nil, err
	}
	if r.printer.view != nil {
		node.Now = r.printer.now
	}
	return &node, nil
}

// newLife is the life of a new pod, or of the one that is taken over. The commands of other
// terminals see and steer it.
func (r *runOf) newLife(node *worker.Engine, to worker.Sink) (life *pods.Life, err error) {
	if r.left == nil {
		life = pods.NewLife(node, r.set.Pod, to)
	} else if life, err = pods.ResumeLife(node, r.set.Pod, to, r.left.from); err != nil {
		return nil, err
	}
	life.Worker.Remember(r.own.memory)
	paths, err := bundle.Locate(r.runtime.Root, "")
	if err != nil {
		return nil, err
	}
	return life, life.Serve(control.Config{
		Folder: control.Folder(paths.RunDir), Services: r.services.selecting(r.set.Pod),
		WithEphemeralContainer: manifest.WithEphemeralContainer, WithResources: manifest.WithResources,
	})
}

// lead does what pods live by while they live, and what goes on beside it.
func lead(ctx context.Context, node *worker.Engine, live func(context.Context, *worker.Events) error, beside ...func(context.Context)) error {
	events, running := node.Events(nil), sync.WaitGroup{}
	besideCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	for _, run := range append(beside, events.Run, node.Logs.Run, node.KeepJournal) {
		running.Go(func() { run(besideCtx) })
	}
	err := live(ctx, events)
	stop()
	running.Wait()
	return err
}

var _ worker.Sink = (*sink)(nil)

// usersOf are the IDs of which a pod with users of its own gets a block: of those that subuid and subgid below the folder
// etc give the user kubelet, as on a node (A-SEC-6). For other pods the files need not be right.
func usersOf(pod *v1.Pod, etc string) (criconfig.UserNamespaceBlocks, error) {
	if pod.Spec.HostUsers == nil || *pod.Spec.HostUsers {
		return criconfig.UserNamespaceBlocks{}, nil
	}
	return criconfig.ConfiguredUserNamespaces(etc, criconfig.UserNamespaceLength, 1)
}
