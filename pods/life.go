package pods

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// Life is a pod whose worker runs, as the commands of other terminals see and steer it.
type Life struct {
	Worker *worker.Worker

	worker.Sink // is told what the worker tells, after the object
	node        *worker.Engine
	object      *control.Object // nil: it is not shown to other terminals
	server      *control.Server // nil: no socket
}

func lifeOf(node *worker.Engine, pod *v1.Pod, to worker.Sink) *Life {
	return &Life{Sink: to, node: node, object: control.NewObject(pod)}
}

func NewLife(node *worker.Engine, pod *v1.Pod, to worker.Sink) *Life {
	l := lifeOf(node, pod, to)
	l.Worker = node.NewWorker(pod, l)
	return l
}

// ResumeLife prepares to go on with a pod from its checkpoint; the error says why that
// is of no use.
func ResumeLife(node *worker.Engine, pod *v1.Pod, to worker.Sink, from lifecycle.Checkpoint) (l *Life, err error) {
	l = lifeOf(node, pod, to)
	if l.Worker, err = node.ResumeWorker(pod, l, from); err != nil {
		return nil, err
	}
	l.object.Resume(l.Worker.Machine(), node.Clock.Time().Now())
	return l, nil
}

// adoptLife prepares to go on with a pod of which there is no checkpoint.
func adoptLife(node *worker.Engine, pod *v1.Pod, to worker.Sink, has lifecycle.Observed) *Life {
	l := lifeOf(node, pod, to)
	l.Worker = node.AdoptWorker(pod, l, has)
	if pod.Status.Phase != "" {
		l.object.Resume(l.Worker.Machine(), node.Clock.Time().Now())
	}
	return l
}

// Serve makes the pod's control socket. The configuration says where it is, and what may
// be changed by it.
func (l *Life) Serve(c control.Config) (err error) {
	c.Object, c.Post, c.Log = l.object, l.Worker.Post, l.node.Log
	c.Runtime, c.Commands, c.LogDir = l.node.Runtime, l.Worker.Commands, l.node.Config.PodLogDirectory(l.Worker.Pod())
	l.server, err = control.Serve(c)
	return err
}

// Close ends the control socket.
func (l *Life) Close() {
	if l.server != nil {
		l.server.Close()
	}
}

// Run lives the pod's life to its end, or until ctx ends. Close the socket then: clients
// of a pod that is gone are told.
func (l *Life) Run(ctx context.Context, events *worker.Events) error {
	events.Add(l.Worker)
	defer events.Remove(l.Worker)
	if err := l.Worker.Run(ctx); err != nil {
		return err
	}
	l.show((*control.Object).Gone)
	return nil
}

// Tell gives the worker a fact from outside, of which the object shows what it asks for.
func (l *Life) Tell(fact lifecycle.Fact) {
	switch f := fact.(type) {
	case lifecycle.PodUpdated:
		l.show(func(o *control.Object) { o.Updated(f.Pod) })
	case lifecycle.StopRequested:
		l.show(func(o *control.Object) { o.StopRequested(l.node.Clock.Time().Now(), f) })
	}
	l.Worker.Post(fact)
}

// Stop asks for the pod's end; it may come again with a shorter grace.
func (l *Life) Stop(request lifecycle.StopRequested) { l.Tell(request) }

// show changes what the commands of other terminals see, if they can see anything.
func (l *Life) show(change func(*control.Object)) {
	if l.object != nil {
		change(l.object)
	}
}

func (l *Life) Status(status v1.PodStatus, step bool) {
	l.show(func(o *control.Object) { o.Status(status) })
	l.Sink.Status(status, step)
}

func (l *Life) Event(at time.Time, event lifecycle.RecordEvent) {
	l.show(func(o *control.Object) { o.Event(at, event) })
	l.Sink.Event(at, event)
}
