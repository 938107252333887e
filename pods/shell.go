package pods

import (
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/pressure"
	"github.com/lifepod/lifepod/worker"
)

// Config is what a Shell needs. The fields for a cluster are nil without one.
type Config struct {
	*Inbox
	Engine  *worker.Engine
	Host    admit.Host
	Sources []roster.Source // nothing is ended before each of them was heard (B-RST-3)
	Node    func() *v1.Node // the newest that is known
	Memory  Memory          // nil: nothing is remembered
	Cluster Cluster
	// Pressure says how the node reacts when a resource runs short; Reclaimer measures resources
	// and frees what pods don't need.
	Pressure  pressure.Config
	Reclaimer Reclaimer
	Local     Local
	// Allocator gives pods devices, CPUs and memory for themselves; nil: they get none.
	Allocator Allocator
	// Health tells how devices are, for the pods' statuses; nil: they don't show it.
	Health Health
	// Shutdowns are those of the machine, for whose pods Periods say how long they may take.
	Shutdowns Shutdowns
	Periods   []roster.Period // the lowest priority first; empty: nothing is ended then
	Counts    Counts          // nil: nobody counts
	Log       *slog.Logger
	// Stir is called whenever something has happened to a pod; may be nil.
	Stir func()
	// RuntimeChanged is told when the runtime may have been lost, or is back; may be nil.
	RuntimeChanged func()
}

// Memory keeps what the next agent needs to go on (package pods).
type Memory interface {
	// All are the pods that are kept, and those of which what is kept is of no use. It is called before anything is kept.
	All() (list []roster.Remembered, useless map[types.UID]error, err error)
	// Rebooted says whether the machine was started anew since the last RecordBoot.
	Rebooted() (bool, error)
	RecordBoot() error
	// Pod returns where a pod is kept; nil: it can't be kept.
	Pod(as roster.Remembered) Kept
	// Load reads what is kept of a pod. fs.ErrNotExist holds for a pod that had not begun.
	Load(uid types.UID) (*roster.Remembered, error)
	Forget(uid types.UID) error
}

// Cluster are the parts that tell the API server of pods, or ask it for them.
type Cluster struct {
	Statuses Statuses
	Events   Events
	Objects  Objects
	Mirrors  Mirrors
	Groups   Groups
	// FreshNode reads the Node from the API server; may be nil.
	FreshNode func(ctx context.Context) (*v1.Node, error)
	// Changed is told after each change of a pod and its status, and at its end.
	Changed func(uid types.UID)
}

// Local is what this machine has of each pod besides its worker.
type Local struct {
	// Sockets is the folder of the control sockets; empty: none.
	Sockets string
	// LogLinks is the folder of links to the containers' logs that log collectors
	// read, such as /var/log/containers; nil: none.
	LogLinks *LogLinksFolder
	// StaticOf is the static pod of a mirror pod's UID; nil without a cluster.
	StaticOf func(mirror types.UID) (static types.UID, found bool)
	// Foreign says that a pod of the same runtime is another lifepod's, which is
	// left alone; nil: none is.
	Foreign func(uid types.UID) bool
}

// Allocator gives pods resources for themselves, such as devices or CPUs (package node/devices).
// Allocations outlive the agent.
type Allocator interface {
	// Asks says whether a pod asks for something of it: a function of the pod's spec.
	Asks(pod *v1.Pod) bool
	// Allocate gives a pod all that it asks for, or nothing; it may take a while. A pod that has
	// something already keeps it.
	Allocate(ctx context.Context, pod *v1.Pod) roster.Allocated
	// Release takes back what a pod has, at once.
	Release(uid types.UID)
	// Held are the pods that have something.
	Held() []types.UID
	// Fixed is what of that a resize can't change.
	Fixed() roster.Fixed
}

// Statuses tell the API server (package node/publish).
type Statuses interface {
	// Annotate says which annotations the object of a pod of the API has to have from the next Set on.
	Annotate(pod *v1.Pod, annotations map[string]string)
	// Set takes the hash of a static pod's manifest, whose mirror pod has the status.
	Set(pod *v1.Pod, hash string, status v1.PodStatus, seen func(error))
	Delete(pod *v1.Pod, status v1.PodStatus)
	Forget(uid types.UID)
	// AwaitSent waits until the API server has all of them, or until ctx ends.
	AwaitSent(ctx context.Context)
}

// Events records Kubernetes Events about pods (package node/publish).
type Events interface {
	Pod(pod *v1.Pod, at time.Time, event lifecycle.RecordEvent)
}

// Counts count what happens (package node/stats).
type Counts interface {
	Status(pod *v1.Pod, before, after *v1.PodStatus)
	Updated(before, after *v1.Pod)
	Rejected(reason string)
	Restarted(static bool)
	Orphaned()
	Gone(pod *v1.Pod)
	Evicted(signals []pressure.Signal, seen pressure.Observations)
	Preempted(missing v1.ResourceName)
}

// Objects are told which pods use ConfigMaps, Secrets … (package node/objects).
type Objects interface {
	Register(pod *v1.Pod)
	Unregister(uid types.UID)
}

// Mirrors show static pods in the API (package node/source).
type Mirrors interface {
	Want(static *v1.Pod)
	Unwant(uid types.UID)
	AllHeard()
	// Of is the mirror pod of a static pod, nil as long as none is known.
	Of(static types.UID) *v1.Pod
}

// Shell runs the pods of this machine. The roster decides which: the shell feeds it with
// facts, such as what sources want, and carries out its effects.
type Shell struct {
	// immutable
	Config
	events *worker.Events

	machine *roster.Machine // run's alone; whoever asks after it has ended may read it
	node    *v1.Node        // as the machine knows it; run's alone
	timer   worker.Timer    // run's alone; posts roster.Woke

	beside sync.WaitGroup // workers, and what is done for the roster

	mu    sync.Mutex
	lives map[types.UID]*living

	files files
	heard chan struct{} // closed when every source has reported what it had
}

// question is asked in turn with the facts.
type question struct {
	ask  func(*roster.Machine)
	done chan struct{}
}

// New prepares a shell; Open comes next, then the sources.
func New(c Config) *Shell {
	if c.Counts == nil {
		c.Counts = noCounts{}
	}
	if c.Memory == nil {
		c.Memory = MemoryFolder{}
	}
	options := roster.Options{
		Sources: c.Sources, Host: c.Host, API: c.Cluster.Mirrors != nil, Shutdown: c.Periods, Pressure: c.Pressure,
	}
	if c.Allocator != nil {
		options.Allocates, options.Fixed = c.Allocator.Asks, c.Allocator.Fixed()
	}
	options.Fixed.Swap = c.Engine.Config.Swaps()
	c.Engine.Clock.Lead("", c.mail)
	s := &Shell{Config: c, events: c.Engine.Events(c.RuntimeChanged), machine: roster.New(options), lives: map[types.UID]*living{}, heard: make(chan struct{})}
	s.events.WithoutWorker = s.foundWithoutWorker
	return s
}

// Open looks for what was left by an agent before this one, and goes on with its pods.
// Everything ends with ctx; containers run on. Call Wait then.
func (s *Shell) Open(ctx context.Context) error {
	opened, err := s.before(ctx)
	if err != nil {
		return err
	}
	s.beside.Go(func() { s.events.Run(ctx) })
	s.beside.Go(func() { s.run(ctx, opened) })
	return nil
}

// Wait returns when ctx of Open has ended and nothing works on pods any more.
func (s *Shell) Wait() {
	<-s.closed
	s.beside.Wait()
}

// run feeds the roster until ctx ends.
func (s *Shell) run(ctx context.Context, opened roster.Opened) {
	defer close(s.closed)
	defer s.mail.Close()
	s.timer = s.Engine.Clock.Time().AfterFunc(time.Hour, func() { s.mail.Post(roster.Woke{}) })
	defer s.timer.Stop()
	s.timer.Stop()
	s.step(ctx, opened)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.mail.Ready():
			for _, item := range s.mail.Take() {
				if ctx.Err() != nil { // nothing is begun any more
					return
				}
				s.receive(ctx, item)
			}
			s.mail.Handled()
		}
	}
}

func (s *Shell) receive(ctx context.Context, item any) {
	switch item := item.(type) {
	case question:
		item.ask(s.machine)
		close(item.done)
		return
	case devicesChanged:
		s.tellDevices(item.uid)
		return
	}
	fact := item.(roster.Fact)
	s.step(ctx, fact)
	switch f := fact.(type) {
	case roster.Wanted:
		s.changed(f.Pod.UID)
	case roster.Unwanted:
		s.changed(f.UID)
	case roster.Published:
		s.changed(f.UID)
	case roster.Ended:
		s.changed(f.UID)
	}
}

// step feeds one fact and carries out what follows.
func (s *Shell) step(ctx context.Context, fact roster.Fact) {
	now := s.now()
	if node := s.Node(); node != s.node {
		s.node = node
		s.carryOut(ctx, s.machine.Step(roster.Event{At: now, Fact: roster.NodeKnown{Node: node}}))
	}
	s.carryOut(ctx, s.machine.Step(roster.Event{At: now, Fact: fact}))
}

func (s *Shell) now() time.Time { return s.Engine.Clock.Time().Now() }

// aside carries out an effect in a goroutine of its own; its answer is posted to the roster.
func (s *Shell) aside(what any, do func()) {
	busy, wait := s.Engine.Clock.Time().Busy, s.Engine.Clock.Await("", what)
	busy(1)
	s.beside.Go(func() {
		defer busy(-1)
		wait()
		do()
	})
}

// ask has the roster read, in turn with the facts.
func (s *Shell) ask(what func(*roster.Machine)) {
	q := question{ask: what, done: make(chan struct{})}
	s.mail.Post(q)
	select {
	case <-q.done:
	case <-s.closed:
		select {
		case <-q.done:
		default:
			what(s.machine)
		}
	}
}

// changed announces that a pod or its status has changed, or that it has ended.
func (s *Shell) changed(uid types.UID) {
	if s.Stir != nil {
		s.Stir()
	}
	if s.Cluster.Changed != nil {
		s.Cluster.Changed(uid)
	}
}

func name(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
