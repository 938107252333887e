package node

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/agent/admission"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/podstatus"
	"github.com/lifepod/lifepod/node/source"
)

// Config is what Pods need. What concerns the cluster may be nil: without one
// there is nobody to tell.
type Config struct {
	Engine  *agent.Node
	Host    admission.Host
	Sources []source.Origin // nothing is ended before each of them was heard (B-RST-3)
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

// Pods are the pods of this node: what the sources want, brought together with
// what there is. It is a source.Feed. What becomes of one pod its worker decides.
type Pods struct {
	// immutable
	Config
	events *agent.Events

	lives sync.WaitGroup // of workers and what starts them

	mu    sync.Mutex
	ctx   context.Context // of Run
	pods  map[types.UID]*pod
	heard map[source.Origin]bool
	found map[types.UID]*leftover // what the runtime had at the start and nobody has taken over
	alone bool                    // the API was not heard in time
}

// pod is one pod and how far it has come here. All but its identity is guarded by
// Pods.mu.
type pod struct {
	uid  types.UID // immutable
	name string    // immutable; with the namespace

	origin source.Origin
	newest *v1.Pod // as its source has it; it is never changed, only replaced
	wanted bool    // its source has it
	again  bool    // it was wanted again after it was not (B-WRK-18)

	saved   *saved // of an agent before this one, until its life goes on
	deleted bool   // the API server was told that nothing is left of it (B-DEL-11)

	ran   bool  // its status tells of containers, of which the runtime has nothing
	begun bool  // its life has begun, or what there is of it is being looked at
	over  bool  // its life has ended; it blocks its UID until it is wanted no more (B-WRK-16)
	life  *life // nil before and after, and for a while after a panic

	status   v1.PodStatus // as published last
	reread   bool         // it was refused for the Node's labels, which were read anew
	rejected bool         // the node has refused it: it holds nothing
	waits    bool         // the log has said what it waits for
	retryAt  time.Time    // when it is judged again whether it can begin; may be past
	refused  *v1.Pod      // with resources for which there was no room; may be nil
	granted  *v1.Pod      // with resources that it may have and that its status does not tell of yet; may be nil
}

func newPod(origin source.Origin, object *v1.Pod) *pod {
	return &pod{uid: object.UID, name: object.Namespace + "/" + object.Name, origin: origin, newest: object}
}

// New prepares Pods; Open comes next, then Run and the sources.
func New(c Config) *Pods {
	events := c.Engine.Events()
	events.OnChange(c.RuntimeChanged)
	if c.Counts == nil {
		c.Counts = noCounts{}
	}
	return &Pods{
		Config: c, events: events,
		pods: map[types.UID]*pod{}, heard: map[source.Origin]bool{}, found: map[types.UID]*leftover{},
	}
}

// Wanted takes a pod of a source as it is now.
func (p *Pods) Wanted(origin source.Origin, newer *v1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.pods[newer.UID]
	if e == nil {
		e = newPod(origin, newer)
		p.pods[newer.UID] = e
	}
	p.Counts.Updated(e.newest, newer)
	e.again = e.again || !e.wanted && e.leaving()
	e.origin, e.newest, e.wanted = origin, newer, true
	if p.Cluster.Objects != nil && !e.over {
		p.Cluster.Objects.Register(newer)
	}
	if e.origin != source.OriginAPI && p.Cluster.Mirrors != nil {
		p.Cluster.Mirrors.Want(newer)
	}
	switch {
	case e.life != nil && !e.again:
		e.life.update(newer)
	case e.over:
		p.deleteEnded(e)
	case p.heard[origin]: // else they come in the order of their creation
		p.begin(e)
	}
}

// leaving says that the pod's end was asked for because its source had it no longer.
func (e *pod) leaving() bool { return e.life != nil && e.life.leaving }

// Unwanted takes that a source has a pod no longer (B-WRK-2). Its mirror pod stays
// until it has ended (B-STA-5).
func (p *Pods) Unwanted(_ source.Origin, uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.pods[uid]
	if e == nil {
		return
	}
	e.wanted, e.again = false, false
	if p.allHeard() {
		p.leave(e)
	}
}

// Heard takes that a source has told all that it had. Its pods begin in the order
// of their creation (A-SYNC-1); after the last source what nobody wants is ended.
func (p *Pods) Heard(origin source.Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard[origin] {
		return
	}
	p.heard[origin] = true
	p.beginAll()
	if p.allHeard() {
		p.Log.Info("all sources were heard", "pods", len(p.pods))
		if err := p.Memory.keepBoot(); err != nil {
			p.Log.Warn("after its next start the agent waits for the API before it goes on with pods", "err", err)
		}
		p.endUnwanted()
		if p.Cluster.Mirrors != nil {
			p.Cluster.Mirrors.AllHeard()
		}
	}
}

func (p *Pods) allHeard() bool {
	return !slices.ContainsFunc(p.Sources, func(o source.Origin) bool { return !p.heard[o] })
}

// beginAll begins every pod that may begin now: at the start, and whenever a pod
// has given something back for which another waits. Called with mu held.
func (p *Pods) beginAll() {
	var waiting []*pod
	for _, e := range p.pods {
		if e.wanted && !e.begun && !e.over && p.heard[e.origin] {
			waiting = append(waiting, e)
		}
	}
	slices.SortFunc(waiting, func(a, b *pod) int {
		return cmp.Or(a.newest.CreationTimestamp.Compare(b.newest.CreationTimestamp.Time), cmp.Compare(a.newest.Name, b.newest.Name))
	})
	for _, e := range waiting {
		p.begin(e)
	}
}

// leave ends a pod that its source has no longer, with the grace that was known
// last (B-WRK-22). Called with mu held.
func (p *Pods) leave(e *pod) {
	switch {
	case e.life != nil:
		e.life.leave(e.newest)
	case e.over:
		p.drop(e)
	case e.begun: // it leaves as soon as it has a life again
	case e.saved != nil:
		p.begin(e) // to be ended: another agent's containers may run
	default:
		p.drop(e)
	}
}

// drop forgets a pod of which there is nothing here. Called with mu held.
func (p *Pods) drop(e *pod) {
	uid := e.uid
	delete(p.pods, uid)
	if e.origin != source.OriginAPI && p.Cluster.Mirrors != nil {
		p.Cluster.Mirrors.Unwant(uid)
	}
	if p.Cluster.Statuses != nil {
		p.Cluster.Statuses.Forget(uid)
	}
	if p.Cluster.Objects != nil {
		p.Cluster.Objects.Unregister(uid)
	}
}

// deleteEnded tells the API server that nothing is left of a pod that is being
// deleted there (B-WRK-24, B-DEL-12). Called with mu held.
func (p *Pods) deleteEnded(e *pod) {
	if e.origin == source.OriginAPI && e.wanted && e.newest.DeletionTimestamp != nil && p.Cluster.Statuses != nil && !e.deleted {
		e.deleted = true
		p.Cluster.Statuses.Delete(e.ref(), *e.status.DeepCopy())
	}
}

// ObjectsChanged tells a pod that what it uses has changed.
func (p *Pods) ObjectsChanged(uid types.UID, because string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.pods[uid]; e != nil && e.life != nil {
		e.life.worker.Post(lifecycle.ObjectsChanged{Labels: e.newest.Labels, Annotations: e.newest.Annotations, Because: because})
	}
}

// ref names the pod for the status writer: the hash makes it a static pod, whose mirror
// pod has its status.
func (e *pod) ref() podstatus.Ref {
	ref := podstatus.Ref{Namespace: e.newest.Namespace, Name: e.newest.Name, UID: e.uid}
	if e.origin == source.OriginFile || e.origin == source.OriginHTTP {
		ref.Static = e.newest.Annotations[source.HashAnnotation]
	}
	return ref
}

var _ source.Feed = (*Pods)(nil)
