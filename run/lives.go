package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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
	options  Options
	runtime  *host.Runtime
	printer  *printer
	stopper  *stopper
	group    *manifest.Group
	seen     []version     // of its files
	services *services     // nil: there are none
	ending   chan struct{} // closed when somebody has asked for the end

	mu      sync.Mutex
	all     []*runOf                 // in the order of the manifests; those of Jobs follow as they begin
	asked   *lifecycle.StopRequested // the newest; nil: nobody has asked for the end
	results results
}

// results are what has become of pods so far.
type results struct {
	code  int  // of the first that did not succeed
	cause line // of that
	errs  []error
}

// meetUnattended goes on with pods of the same manifests whose lifepod was killed,
// or ends them, for --new; it warns of the others, which this run does not touch.
func (l *lives) meetUnattended(ctx context.Context) error {
	for _, set := range l.group.Sets {
		r := newRunOf(l, set)
		l.all = append(l.all, r)
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
			return p.Namespace == set.Pod.Namespace && p.Name == set.Pod.Name // claim says more of those
		}) || slices.ContainsFunc(l.group.Jobs, func(j *manifest.Job) bool {
			return p.Namespace == j.Namespace && strings.HasPrefix(p.Name, j.Set.Pod.GenerateName) // which the Job goes on with
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
	for _, r := range l.all {
		if r.left != nil {
			r.left.record.leave()
		}
	}
}

func (l *lives) nameOf(pod *v1.Pod) string {
	for _, set := range l.group.All() {
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
	objects := objectsOf(l.group.All()...)
	node, err := newNode(l.options, l.runtime, l.group.All()[0].RuntimeClasses, objects, features)
	if err == nil {
		if l.services = newServices(l.group.Services, node, l.printer.warn); l.services != nil {
			for _, r := range l.all {
				r.services = l.services
			}
		}
		err = l.prepare(ctx, node)
	}
	if err != nil {
		l.leave()
		return ExitError, err
	}
	reload := &reloader{options: l.options, objects: objects, warn: l.printer.warn, taken: l.seen}
	for _, r := range l.all {
		reload.pods = append(reload.pods, &reloaded{set: r.set, post: func(f lifecycle.Fact) { l.post(r, f) }, warn: r.printer.warn})
	}
	jobs := l.jobs()
	for _, j := range jobs {
		reload.pods = append(reload.pods, &reloaded{set: j.job.Set, post: j.post, warn: l.printer.warn})
	}

	until, giveUp := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends when the pods are gone, not before
	defer giveUp(nil)
	for _, r := range l.all {
		r.begun = r.life != nil
	}
	l.stopper.attach(l, giveUp, l.options.Timeout)
	if l.options.Begun != nil {
		l.options.Begun(Begun{Names: l.names(), Warnings: l.group.Warnings})
	}
	l.openView()
	defer l.printer.closeView()
	err = lead(until, node, func(ctx context.Context, events *worker.Events) error { return l.live(ctx, node, events, jobs) }, reload.run, l.services.run)
	l.printer.closeView()
	l.printer.endCountDown()
	for _, r := range l.all {
		if l.options.Keep && r.life != nil {
			r.printer.kept(filepath.Join(node.Folders.Pods, string(r.set.Pod.UID)), node.Config.PodLogDirectory(r.set.Pod))
		}
	}
	if err := errors.Join(err, l.stopper.failure()); err != nil {
		return ExitError, err
	}
	return l.results.code, nil
}

// names are those of all pods, and of the Jobs that will make some.
func (l *lives) names() (list []string) {
	for _, set := range l.group.Sets {
		list = append(list, set.Pod.Namespace+"/"+set.Pod.Name)
	}
	for _, job := range l.group.Jobs {
		list = append(list, "Job "+job.Namespace+"/"+job.Name)
	}
	return list
}

// prepare has all pods ready to begin that do not wait for another, or none.
func (l *lives) prepare(ctx context.Context, node *worker.Engine) error {
	for i, r := range l.all {
		if r.set.After != "" && r.left == nil {
			continue
		}
		if err := r.prepare(ctx, node); err != nil {
			for _, before := range l.all[:i] {
				if before.life != nil {
					before.life.Close()
					before.giveUp()
					before.sent.end(ctx, false)
				}
			}
			return err
		}
	}
	return nil
}

// live has the pods live until all have ended.
func (l *lives) live(ctx context.Context, node *worker.Engine, events *worker.Events, jobs []*jobRun) error {
	var all sync.WaitGroup
	for _, r := range l.all {
		all.Go(func() {
			defer close(r.over)
			if r.life != nil || l.begin(ctx, node, r) {
				code, err := r.live(ctx, events)
				l.ended(code, r.cause, err)
			}
		})
	}
	for _, j := range jobs {
		all.Go(func() { j.run(ctx, node, events) })
	}
	all.Wait()
	return errors.Join(l.results.errs...)
}

// begin waits until it is a pod's turn, and prepares it. If its turn does not come, it does not begin.
func (l *lives) begin(ctx context.Context, node *worker.Engine, r *runOf) bool {
	before := l.before(r)
	select {
	case <-before.ready:
	case <-l.ending:
		return false
	case <-before.over:
		select {
		case <-before.ready:
		default:
			r.printer.warn(fmt.Sprintf("it does not begin, as pod %s has ended before it was Ready", r.set.After))
			return false
		}
	}
	if err := r.prepare(ctx, node); err != nil {
		l.stopper.fail(err, "another pod can't begin")
		return false
	}
	l.started(r)
	return true
}

// before is the pod that one waits for.
func (l *lives) before(r *runOf) *runOf {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[slices.IndexFunc(l.all, func(other *runOf) bool {
		return other.set.Pod.Namespace == r.set.Pod.Namespace && other.set.Pod.Name == r.set.After
	})]
}

// join takes a pod of a Job.
func (l *lives) join(r *runOf) {
	l.mu.Lock()
	l.all = append(l.all, r)
	l.mu.Unlock()
	l.started(r)
}

// started notes that a pod has begun, and ends it if somebody has asked for that meanwhile.
func (l *lives) started(r *runOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.begun = true
	if l.asked != nil {
		r.life.Stop(*l.asked)
	}
}

// jobs are those of the manifests.
func (l *lives) jobs() (list []*jobRun) {
	for _, job := range l.group.Jobs {
		list = append(list, &jobRun{
			lives: l, job: job, changed: make(chan struct{}, 1), state: newJobState(&job.Spec, time.Now()), running: map[int]*runOf{},
		})
	}
	return list
}

// ended takes what has become of a pod. Given up, all say the same.
func (l *lives) ended(code int, cause line, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.results.code == 0 && code != 0 {
		l.results.code, l.results.cause = code, cause
	}
	if err != nil && !slices.ContainsFunc(l.results.errs, func(had error) bool { return errors.Is(had, err) }) {
		l.results.errs = append(l.results.errs, err)
	}
}

// cause is what the exit code comes from: the pod that was the first to fail, or who has asked for the end.
func (l *lives) cause(code int) line {
	l.mu.Lock()
	cause := l.results.cause
	l.mu.Unlock()
	if code == 0 || l.stopper == nil || cause.Reason != "" && cause.Reason != reasonStopped {
		return cause
	}
	switch l.stopper.exitCode(code) {
	case ExitTimeout:
		cause.Reason = "Timeout"
	case ExitInterrupted:
		cause.Reason = cmp.Or(cause.Reason, "Interrupted")
	}
	return cause
}

// Stop asks for the end of all pods; none begins any more.
func (l *lives) Stop(request lifecycle.StopRequested) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		close(l.ending)
	}
	l.asked = &request
	for _, r := range l.all {
		if r.begun {
			r.life.Stop(request)
		}
	}
}

// isEnding says whether somebody has asked for the end.
func (l *lives) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked != nil
}

// post gives a pod that has begun a fact.
func (l *lives) post(r *runOf, fact lifecycle.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.begun {
		r.life.Worker.Post(fact)
	}
}
