package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
)

// jobRun has the pods of a Job live.
type jobRun struct {
	*lives
	job     *manifest.Job
	changed chan struct{} // of size 1: a pod has

	of      sync.Mutex
	state   *jobState
	running map[int]*runOf
}

// name is what lines about the Job begin with.
func (j *jobRun) name() string {
	return fmt.Sprintf("%s %s/%s", j.job.Kind, j.job.Namespace, j.job.Name)
}

// run has pods begin until the Job is complete, has failed, or is to end.
func (j *jobRun) run(ctx context.Context, node *worker.Engine, events *worker.Events) {
	j.printer.concerning(j.name(), j.toDo())
	var pods sync.WaitGroup
	defer pods.Wait()
	for ended := false; ; {
		asked := j.isEnding() // before a pod begins, as the end may have been asked for together with what woke this
		j.of.Lock()
		step, reason := j.state.next(time.Now(), asked), j.state.reason
		j.of.Unlock()
		for number, index := range step.begin {
			if r := j.begin(ctx, node, number, index); r != nil {
				pods.Go(func() { j.live(ctx, events, number, r) })
			}
		}
		if step.end && !ended {
			ended = true
			j.printer.concerning(j.name(), j.options.Language.Say("failed (%s)", reason))
			j.end(reason)
		}
		if step.over {
			j.over(asked)
			return
		}
		var wake <-chan time.Time
		if !step.wakeAt.IsZero() {
			wake = time.After(time.Until(step.wakeAt))
		}
		ending := j.ending
		if asked {
			ending = nil
		}
		select {
		case <-j.changed:
		case <-wake:
		case <-ending:
		}
	}
}

func (j *jobRun) toDo() string {
	language := j.options.Language
	text := language.Word("until a pod has succeeded")
	if n := j.job.Spec.Completions; n != nil {
		text = language.Count(int(*n), "completion")
	}
	return language.Say("%s, %d at a time", text, ptr.Deref(j.job.Spec.Parallelism, 1))
}

// begin prepares a pod, or goes on with one that a killed lifepod has left; nil if that can't be.
func (j *jobRun) begin(ctx context.Context, node *worker.Engine, number, index int) *runOf {
	r := newRunOf(j.lives, j.job.Next(index))
	var err error
	if !j.options.New {
		r.left, err = takeOver(ctx, j.runtime, r.set, j.printer.warn)
	}
	r.printer = j.printer.of(r.set.Pod, j.nameOf(r.set.Pod))
	r.status = func(status *v1.PodStatus) { j.note(func() { j.state.status(number, status) }) }
	if err == nil {
		err = r.prepare(ctx, node)
	}
	if err != nil {
		j.stopper.fail(err, "a pod of "+j.name()+" can't begin") // first, so that no other takes its place
		j.note(func() { delete(j.state.active, number) })
		return nil
	}
	j.of.Lock()
	j.running[number] = r
	j.of.Unlock()
	j.join(r)
	return r
}

// live is a pod's life.
func (j *jobRun) live(ctx context.Context, events *worker.Events, number int, r *runOf) {
	code, err := r.live(ctx, events)
	if err != nil {
		j.ended(0, line{}, err)
	}
	status := r.printer.status()
	j.note(func() {
		delete(j.running, number)
		j.state.ended(number, code, &status, time.Now())
	})
}

// note changes the state, and has it looked at.
func (j *jobRun) note(change func()) {
	j.of.Lock()
	change()
	j.of.Unlock()
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

// end ends the pods of a Job that has failed.
func (j *jobRun) end(reason string) {
	j.of.Lock()
	defer j.of.Unlock()
	for _, r := range j.running {
		r.life.Stop(lifecycle.StopRequested{Because: j.name() + " has failed: " + reason})
	}
}

func (j *jobRun) post(fact lifecycle.Fact) {
	j.of.Lock()
	defer j.of.Unlock()
	for _, r := range j.running {
		r.life.Worker.Post(fact)
	}
}

// over says what has become of the Job.
func (j *jobRun) over(asked bool) {
	j.of.Lock()
	defer j.of.Unlock()
	switch {
	case j.state.reason != "":
		j.ended(j.state.code, line{Subject: j.name(), Reason: "Failed"}, nil)
	case asked:
		j.ended(j.stopper.exitCode(ExitInterrupted), line{Subject: j.name(), Reason: reasonStopped}, nil)
	default:
		j.printer.concerning(j.name(), j.options.Language.Word("complete"))
	}
}
