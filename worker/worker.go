package worker

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/handler"
)

// Sink receives what others need to know about a pod, in order. The worker's goroutine
// calls it, so it must not block.
type Sink interface {
	// Status is the newest status, which shares memory with the machine and must not be
	// changed (lifecycle.Publish). If it is a step, every watcher must see it, whatever
	// comes after it (B-RAC-23).
	Status(status v1.PodStatus, step bool)
	Event(at time.Time, event lifecycle.RecordEvent)
	Report(at time.Time, report lifecycle.Report)
	// Delete says that the pod's object can be deleted (lifecycle.DeleteObject).
	Delete()
	// Rests says that the pod has ended and holds nothing of the node any more; its
	// records stay (lifecycle.Machine.Resting).
	Rests()
}

// Worker takes one pod through its life. Make it with NewWorker, call Run once.
type Worker struct {
	// immutable
	pod     *v1.Pod // as first given
	sink    Sink
	log     *slog.Logger
	mail    *mailbox.Mailbox[any] // of lifecycle.Fact, *runtimeapi.ContainerStatus of one that exited, nowMoved …
	results *results              // of all executors
	// Commands runs commands in the pod's containers.
	Commands *handler.Runner

	relist mailbox.Signal // requests a snapshot now

	// owned by Run
	first     lifecycle.Fact // nil: as firstFact says
	machine   *lifecycle.Machine
	clock     clock
	executor  *executor // replaced when the pod changes
	timer     Timer     // posts Woke, which may come when the time was set anew: it is not too often (lifecycle)
	calls     sync.WaitGroup
	snapshots snapshots
	memory    memory
	podSpan   podSpan // for traces
	journal   journalState
	rests     bool          // the sink knows that the pod rests
	hasBegun  bool          // its first step is done
	end       lifecycle.End // final when Run has returned without an error

	underWay  sync.Map  // of context.CancelFunc: the effects under way, by ID
	simulated Simulated // nil: the pod has containers
}

// NewWorker prepares the worker of a pod that was defaulted and validated.
func (n *Engine) NewWorker(pod *v1.Pod, sink Sink) *Worker {
	mail := mailbox.New[any]()
	n.Clock.Lead(pod.UID, mail)
	n.Clock.Time().Busy(1) // until it has begun
	h := &executor{
		engine: n, pod: pod, results: &results{}, commands: handler.NewRunner(n.Runtime),
		post: mail.Post,
	}
	w := &Worker{
		Commands: h.commands,
		pod:      pod,
		results:  h.results,
		sink:     sink,
		executor: h,
		log:      n.Log.With("pod", pod.Namespace+"/"+pod.Name, "uid", pod.UID),
		mail:     mail,
		relist:   mailbox.NewSignal(),
		machine:  lifecycle.New(pod, h.options()),
		clock:    n.newClock(),
		podSpan:  podSpan{tracer: n.Tracer},
	}
	if n.Simulated != nil {
		w.simulated = n.Simulated(pod, func(fact lifecycle.Fact) { mail.Post(fact) })
	}
	return w
}

// options are the node's, as they hold for the pod.
func (h *executor) options() lifecycle.Options {
	options := h.engine.Options
	options.RecursiveReadOnly = h.recursiveReadOnly()
	return options
}

// Run takes the pod through its life until nothing of it is left, or until ctx ends: then
// it gives up effects under way, and the pod stays in the runtime as it is.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer w.closeJournal()
	defer w.calls.Wait()
	defer cancel()
	defer w.podSpan.end()
	if w.simulated != nil {
		defer w.simulated.End()
	}
	w.openJournal()
	w.timer = w.executor.engine.Clock.Time().AfterFunc(time.Hour, func() { w.mail.Post(lifecycle.Woke{}) })
	w.timer.Stop()
	defer w.timer.Stop()

	w.step(ctx, w.firstFact())
	if w.machine.Stage() != lifecycle.Gone {
		w.begun()
	}
	for w.machine.Stage() != lifecycle.Gone {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.mail.Ready():
			for _, item := range w.mail.Take() {
				w.receive(ctx, item)
			}
			if w.machine.Stage() != lifecycle.Gone { // else Close says that all is handled
				w.mail.Handled()
			}
		case <-w.relist:
			w.takeSnapshot(ctx)
		}
	}
	return nil
}

// begun says that the worker has begun, or never will.
func (w *Worker) begun() {
	if !w.hasBegun {
		w.hasBegun = true
		w.executor.engine.Clock.Time().Busy(-1)
	}
}

// Close says that Run has returned, and that what follows from the pod's end has been told.
func (w *Worker) Close() {
	w.begun()
	w.mail.Close()
}

// Pod returns the pod that was passed to NewWorker or ResumeWorker.
func (w *Worker) Pod() *v1.Pod { return w.pod }

// End is how the pod ended; call it when Run has returned without an error.
func (w *Worker) End() lifecycle.End { return w.end }

// Stop asks the pod to end. Call it again to shorten the grace period.
func (w *Worker) Stop(request lifecycle.StopRequested) { w.mail.Post(request) }

// Machine returns the pod's machine before Run, as after a kill -9. During Run only the
// worker may use it.
func (w *Worker) Machine() *lifecycle.Machine { return w.machine }

// Post gives the worker a fact from outside, such as a wish of the user's.
func (w *Worker) Post(fact lifecycle.Fact) { w.mail.Post(fact) }

// Behind returns how long the oldest item of the mailbox has waited; 0: none waits. The
// worker never blocks, so more than a moment means that it hangs.
func (w *Worker) Behind() time.Duration { return w.mail.Behind() }

// Unsaved returns why the last save of the pod's state failed; nil if it succeeded.
func (w *Worker) Unsaved() error {
	if err := w.memory.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// Refuse has the pod rejected by the node, instead of its start (A-ADM-2).
// Call it before Run.
func (w *Worker) Refuse(why lifecycle.Rejected) { w.first = why }

// receive takes one item of the mailbox. An exit's termination message is read
// beside the worker, so that a slow disk delays nothing.
func (w *Worker) receive(ctx context.Context, item any) {
	switch item := item.(type) {
	case lifecycle.Observed:
		w.step(ctx, item)
		w.snapshotTaken(ctx, item)
	case podDigest: // comes regularly
		w.saveAgain()
		w.compareDigest(ctx, item)
	case lifecycle.Fact:
		w.step(ctx, item)
	case nowMoved:
		w.noteNow(w.clock.soon())
	case *runtimeapi.ContainerStatus:
		executor := w.executor
		w.beside(item, func() { w.mail.Post(executor.describeExit(item)) })
	case panicked:
		panic(item.String())
	}
}

// step feeds one fact and carries out its effects. If the wall clock was set, the machine
// is told first.
func (w *Worker) step(ctx context.Context, fact lifecycle.Fact) {
	at, changed := w.clock.now()
	if changed != 0 {
		w.feed(ctx, at, lifecycle.ClockChanged{By: changed})
	}
	if o, isSnapshot := fact.(lifecycle.Observed); isSnapshot {
		o.Began = w.clock.ofNow(o.Began)
		fact = o
	}
	w.feed(ctx, at, fact)
}

// feed is the one place where facts and effects are logged.
func (w *Worker) feed(ctx context.Context, at time.Time, fact lifecycle.Fact) {
	w.log.Debug("fact", "event", typeOf{fact}, "fact", plain{fact})
	w.snapshots.learned(fact)
	effects := w.machine.Step(lifecycle.Event{At: at, Fact: fact})
	if w.machine.PodChanged() {
		w.executor = w.executor.of(w.machine.Pod())
	}
	w.save(at)
	w.note(at, fact, effects)
	w.noteNow(at) // before anybody is told: what has been told is not lost by a kill -9
	w.podSpan.learned(fact, w.machine.Stage())
	for _, effect := range statusFirst(effects) {
		w.snapshots.wanted(effect)
		w.carryOut(ctx, at, effect)
	}
	w.podSpan.rests()
	if rests := w.machine.Resting(); rests != w.rests {
		if w.rests = rests; rests {
			w.sink.Rests()
		}
	}
}

func (w *Worker) carryOut(ctx context.Context, at time.Time, effect lifecycle.Effect) {
	switch e := effect.(type) {
	case lifecycle.Publish:
		w.executor.watchLogs(&e.Status)
		w.sink.Status(e.Status, e.ID != 0)
		w.podSpan.waits(ctx, w.executor.pod, e.ID)
		w.confirm(e.ID)
	case lifecycle.RecordEvent:
		w.sink.Event(at, e)
	case lifecycle.CountEviction:
		w.watched(e)
	case lifecycle.Tell:
		w.sink.Report(at, e.Report)
		w.watched(e)
	case lifecycle.WakeAt:
		w.timer.Stop()
		if !e.At.IsZero() {
			w.timer.Reset(w.clock.until(e.At))
		}
	case lifecycle.Cancel:
		w.cancel(e.ID)
	case lifecycle.DeleteObject:
		w.sink.Delete()
	case lifecycle.Finish:
		w.end = e.End
		w.log.Debug("gone")
	default:
		w.log.Debug("effect", "effect", typeOf{e}, "values", plain{e})
		w.begin(ctx, e)
	}
}

// watched tells the watch of an effect without an answer.
func (w *Worker) watched(e lifecycle.Effect) {
	if watch := w.executor.engine.Watch; watch != nil {
		watch.Carried(w.executor.pod, e, nil, 0)
	}
}

// typeOf and plain are worded only if somebody logs them.
type (
	typeOf struct{ value any }
	plain  struct{ value any }
)

// LogValue is the type's name.
func (t typeOf) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%T", t.value)) }

// name is it without its package's.
func (t typeOf) name() string { return reflect.TypeOf(t.value).Name() }

// LogValue is the value with its fields' names.
func (p plain) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%+v", p.value)) }

// begin carries an effect out beside the worker; its answer comes by mail.
func (w *Worker) begin(ctx context.Context, e lifecycle.Effect) {
	if w.simulated != nil {
		w.simulated.Begin(e)
		return
	}
	deadline := w.executor.deadline(e)
	ctx, cancel := context.WithCancel(ctx)
	id := e.EffectID()
	if id != 0 {
		w.underWay.Store(id, cancel)
	}
	executor := w.executor
	ctx, span := w.podSpan.within(ctx, executor.pod, e)
	w.beside(e, func() {
		defer cancel()
		defer executor.engine.Looks.enter(ctx, e)()
		ctx, end := context.WithTimeout(ctx, deadline)
		defer end()
		began := time.Now()
		fact := rowOf(e).carryOut(executor, ctx, e)
		endSpan(span, fact)
		if executor.engine.Watch != nil {
			executor.engine.Watch.Carried(executor.pod, e, fact, time.Since(began))
		}
		w.underWay.Delete(id)
		w.mail.Post(fact)
	})
}

func (w *Worker) cancel(id lifecycle.EffectID) {
	if w.simulated != nil {
		w.simulated.Cancel(id)
		return
	}
	if cancel, there := w.underWay.Load(id); there {
		cancel.(context.CancelFunc)()
	}
}
