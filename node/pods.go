package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/podstatus"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/admission"
)

// Config is what Pods need. What concerns the cluster may be nil: without one
// there is nobody to tell.
type Config struct {
	Engine  *worker.Node
	Host    admission.Host
	Sources []roster.Source // nothing is ended before each of them was heard (B-RST-3)
	Node    func() *v1.Node // the newest that is known
	Memory  Memory
	Cluster Cluster
	Local   Local
	Counts  Counts // nil: nobody counts
	Log     *slog.Logger
	// Stir is called whenever something has happened to a pod; may be nil.
	Stir func()
	// RuntimeChanged is told when the runtime may have been lost, or is back; may be nil.
	RuntimeChanged func()
}

// Cluster are the parts that tell the API server of pods, or ask it for them.
type Cluster struct {
	Statuses Statuses
	Events   Events
	Objects  Objects
	Mirrors  Mirrors
	// FreshNode reads the Node from the API server; may be nil.
	FreshNode func(ctx context.Context) (*v1.Node, error)
	// Changed is told after each change of a pod's status, and at its end.
	Changed func(uid types.UID)
}

// Local is what there is of each pod on this machine besides its worker.
type Local struct {
	// Sockets is the folder of the control sockets; empty: none.
	Sockets string
	// LogLinks is the folder of links to the containers' logs that log collectors
	// read, such as /var/log/containers; empty: none.
	LogLinks string
	// StaticOf is the static pod of a mirror pod's UID; nil without a cluster.
	StaticOf func(mirror types.UID) (static types.UID, found bool)
	// Foreign says that a pod of the same runtime is another lifepod's, which is
	// left alone; nil: none is.
	Foreign func(uid types.UID) bool
}

// Statuses tell the API server (package podstatus).
type Statuses interface {
	Set(pod podstatus.Ref, status v1.PodStatus, seen func(error))
	Delete(pod podstatus.Ref, status v1.PodStatus)
	Forget(uid types.UID)
}

// Events records Kubernetes Events about pods (package record).
type Events interface {
	Pod(pod *v1.Pod, at time.Time, event lifecycle.RecordEvent)
}

// Counts count what happens (package metrics).
type Counts interface {
	Status(pod *v1.Pod, before, after *v1.PodStatus)
	Updated(before, after *v1.Pod)
	Rejected(reason string)
	Restarted(static bool)
	Orphaned()
	Gone(pod *v1.Pod)
}

// Objects are told which pods use ConfigMaps, Secrets … (package objects).
type Objects interface {
	Register(pod *v1.Pod)
	Unregister(uid types.UID)
}

// Mirrors show static pods in the API (package source).
type Mirrors interface {
	Want(static *v1.Pod)
	Unwant(uid types.UID)
	AllHeard()
	// Of is the mirror pod of a static pod, nil as long as none is known.
	Of(static types.UID) *v1.Pod
}

// Pods are the pods of this node. Which live here the roster decides; Pods feeds it with
// facts and carries out what it asks for. It is a source.Feed.
type Pods struct {
	// immutable
	Config
	events *worker.Events
	mail   *mailbox.Mailbox[any] // of roster.Fact, or question
	closed chan struct{}         // closed when nothing is taken from the mailbox any more

	machine *roster.Machine // run's alone; whoever asks after it has ended may read it
	node    *v1.Node        // as the machine knows it; run's alone
	timer   *time.Timer     // run's alone

	beside sync.WaitGroup // workers, and what is done for the roster

	mu    sync.Mutex
	lives map[types.UID]*life

	files   files
	resizes resizes
}

// question is asked in turn with the facts.
type question struct {
	ask  func(*roster.Machine)
	done chan struct{}
}

// New prepares Pods; Open comes next, then the sources.
func New(c Config) *Pods {
	events := c.Engine.Events()
	events.OnChange(c.RuntimeChanged)
	if c.Counts == nil {
		c.Counts = noCounts{}
	}
	return &Pods{
		Config: c, events: events, mail: mailbox.New[any](), closed: make(chan struct{}),
		machine: roster.New(roster.Options{Sources: c.Sources, Host: c.Host, API: c.Cluster.Mirrors != nil}),
		lives:   map[types.UID]*life{}, resizes: resizes{asked: map[int]chan<- *admission.Refusal{}},
	}
}

// Wanted takes a pod of a source as it is now.
func (p *Pods) Wanted(from roster.Source, newer *v1.Pod) {
	p.mail.Post(roster.Wanted{Source: from, Pod: newer})
}

// Unwanted takes that a source has a pod no longer.
func (p *Pods) Unwanted(_ roster.Source, uid types.UID) { p.mail.Post(roster.Unwanted{UID: uid}) }

// Heard takes that a source has told all that it had.
func (p *Pods) Heard(from roster.Source) { p.mail.Post(roster.SourceHeard{Source: from}) }

// ObjectsChanged tells a pod that what it uses has changed.
func (p *Pods) ObjectsChanged(uid types.UID, because string) {
	p.mail.Post(roster.ObjectsChanged{UID: uid, Because: because})
}

// Open looks for what was left by an agent before this one, and goes on with its pods.
// Everything ends with ctx; containers run on. Call Wait then.
func (p *Pods) Open(ctx context.Context) error {
	opened, err := p.before(ctx)
	if err != nil {
		return err
	}
	p.beside.Go(func() { p.events.Run(ctx) })
	p.beside.Go(func() { p.run(ctx, opened) })
	return nil
}

// Wait returns when ctx of Open has ended and nothing works on pods any more.
func (p *Pods) Wait() {
	<-p.closed
	p.beside.Wait()
}

// run feeds the roster until ctx ends.
func (p *Pods) run(ctx context.Context, opened roster.Opened) {
	defer close(p.closed)
	p.timer = time.NewTimer(time.Hour)
	defer p.timer.Stop()
	p.timer.Stop()
	p.step(ctx, opened)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.mail.Ready():
			for _, item := range p.mail.Take() {
				if ctx.Err() != nil { // nothing is begun any more
					return
				}
				p.receive(ctx, item)
			}
			p.mail.Handled()
		case <-p.timer.C:
			p.step(ctx, roster.Woke{})
		}
	}
}

func (p *Pods) receive(ctx context.Context, item any) {
	if q, isQuestion := item.(question); isQuestion {
		q.ask(p.machine)
		close(q.done)
		return
	}
	fact := item.(roster.Fact)
	p.step(ctx, fact)
	switch f := fact.(type) {
	case roster.Published:
		p.changed(f.UID)
	case roster.Ended:
		p.changed(f.UID)
	}
}

// step feeds one fact and carries out what follows.
func (p *Pods) step(ctx context.Context, fact roster.Fact) {
	now := time.Now()
	if node := p.Node(); node != p.node {
		p.node = node
		p.carryOut(ctx, p.machine.Step(roster.Event{At: now, Fact: roster.NodeKnown{Node: node}}))
	}
	p.carryOut(ctx, p.machine.Step(roster.Event{At: now, Fact: fact}))
}

// ask has the roster read, in turn with the facts.
func (p *Pods) ask(what func(*roster.Machine)) {
	q := question{ask: what, done: make(chan struct{})}
	p.mail.Post(q)
	select {
	case <-q.done:
	case <-p.closed:
		select {
		case <-q.done:
		default:
			what(p.machine)
		}
	}
}

// changed tells that a pod has another status, or has ended.
func (p *Pods) changed(uid types.UID) {
	if p.Stir != nil {
		p.Stir()
	}
	if p.Cluster.Changed != nil {
		p.Cluster.Changed(uid)
	}
}

func name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

var _ source.Feed = (*Pods)(nil)
