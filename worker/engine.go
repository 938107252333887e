package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/images"
	"github.com/lifepod/lifepod/worker/podcgroup"
	"github.com/lifepod/lifepod/worker/podlog"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Images are the runtime's images (package worker/images).
type Images interface {
	Inspect(ctx context.Context, image string) (*images.Image, error)
	MayUse(ctx context.Context, image string, found *images.Image, request func() images.PullRequest) bool
	Pull(ctx context.Context, request images.PullRequest) (*images.Pulled, error)
}

// Cgroups makes and removes pod cgroups (package worker/podcgroup).
type Cgroups interface {
	Path(pod *v1.Pod) string
	Ensure(pod *v1.Pod) error
	Resize(states []*v1.Pod) error
	Remove(ctx context.Context, uid types.UID, class ...v1.PodQOSClass) error
	Used(pod *v1.Pod) (podcgroup.Used, error)
	// Expect is called before the runtime is asked to start a process, end when it has answered.
	Expect() (end func())
}

// Objects looks up ConfigMaps and Secrets.
type Objects = criconfig.Objects

// RuntimeClasses looks up the handler of a RuntimeClass; a class that is not
// there is an error (A-CRI-13).
type RuntimeClasses interface {
	Handler(class string) (string, error)
}

// Network is the pod network of the runtime.
type Network interface {
	// Ready is nil if there is one for a pod, else why not (A-SYNC-6).
	Ready(ctx context.Context, pod *v1.Pod) error
	// Doubt has the next Ready look, because a sandbox could not be made.
	Doubt()
}

// Services gives the variables that tell containers of the cluster's Services
// (A-ENV-1, A-ENV-7). An error is CreateContainerConfigError.
type Services interface {
	Variables(ctx context.Context, pod *v1.Pod) ([]criconfig.KeyValue, error)
}

// Assigner knows what a container was given of the node by name, before it was admitted:
// device plugins, claims, exclusive CPUs.
type Assigner interface {
	// Assigned is called before each create; an error is CreateContainerConfigError.
	Assigned(ctx context.Context, pod *v1.Pod, container *v1.Container) (criconfig.Assigned, error)
}

// Watch is told what was carried out, such as to count it, from the effects' goroutines
// and the worker's: it must not block. The answer is nil for an effect without one.
type Watch interface {
	Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, took time.Duration)
}

// Simulated carries out the effects of one pod where there are no containers. Its methods do not block.
type Simulated interface {
	// Begin begins an effect, whose answer is posted.
	Begin(effect lifecycle.Effect)
	// Cancel gives one up if that is possible; it is answered all the same.
	Cancel(id lifecycle.EffectID)
	// End is called when the worker ends: nothing is posted any more.
	End()
}

// Engine is what the workers of one machine share. It is immutable once workers run.
type Engine struct {
	// Simulated makes what carries a pod's effects out in the place of this machine and its
	// runtime, of which the workers then need nothing: Runtime, Images and what follows them may
	// be nil. post takes answers, and what happens to the pod besides. Nil: pods have containers.
	Simulated func(pod *v1.Pod, post func(lifecycle.Fact)) Simulated

	Runtime  runtimeapi.RuntimeServiceClient
	Features cri.Features // the runtime's
	Handler  string       // of pods that name no RuntimeClass; empty for the runtime's default (A-CRI-13)
	Images   Images
	Cgroups  Cgroups
	// Network says whether pods can have one; nil leaves it to the runtime.
	Network Network
	DNS     DNS
	// Config is the node's part of sandbox and container configs.
	Config  criconfig.Node
	Folders Folders
	API     API

	Admission Admission
	// Assigners each give containers their part; what an earlier one says counts.
	Assigners []Assigner
	// Allocatable stands in for limits that a container doesn't set (A-ENV-8).
	Allocatable v1.ResourceList
	// Options are those of every pod's machine.
	Options  lifecycle.Options
	Timeouts Timeouts
	Looks    Looks
	Clock    Clock

	// PullProgress is told about once a second of every pull under way, and at its end
	// without an elapsed time, from the pull's goroutine; nil if nobody wants to know.
	PullProgress func(pod *v1.Pod, image string, p images.Progress)
	// Watch is nil if nobody wants to know.
	Watch Watch
	// Now is told after each step how a pod is and what it waits for, from its worker's goroutine: it must
	// not block. nil if nobody wants to know.
	Now func(pod *v1.Pod, now journal.Now)
	// Services are the names of Services that a pod's hosts file has, where no DNS has them; nil: it has none.
	Services func(pod *v1.Pod) []v1.HostAlias
	// JournalWrote is told of each write to a pod's journal, how many entries it was and how long it took, or why
	// it failed; nil if nobody wants to know. It must not block.
	JournalWrote func(entries int, took time.Duration, err error)
	// Tracer makes spans of what pods go through (A-TRC-5); nil: nothing is traced.
	Tracer trace.Tracer
	// Logs rotates the logs of running containers; nil for none.
	Logs *podlog.Rotator
	Log  *slog.Logger
}

// DNS makes a pod's resolv.conf.
type DNS struct {
	// Resolver reads the machine's configuration, for each pod (A-NET-3); nil: it has none.
	Resolver func() (criconfig.Resolver, error)
	Cluster  criconfig.ClusterDNS
}

// Folders are where a node has the files of its pods.
type Folders struct {
	// Pods has a folder per pod, named by its UID (A-VOL-1).
	Pods string
	// Claims has the folders of persistentVolumeClaims, by namespace and name; they
	// outlive their pods.
	Claims string
	// IPAM is the store of lifepod's IPAM plugin, whose address of a pod is given back
	// when the pod is gone; empty with another network.
	IPAM string
	// Journal takes what happens to each pod; nil: that is not kept.
	Journal *journal.Writers
	// Keep leaves a pod's folder and logs when the pod is gone.
	Keep bool
}

// API is what pods use of an API server, or of the manifests that stand in for it.
type API struct {
	// Objects are those that a pod may use.
	Objects func(pod *v1.Pod) Objects
	// RuntimeClasses gives the handler of a RuntimeClass; nil takes its name for it.
	RuntimeClasses RuntimeClasses
	// Services are nil without a cluster.
	Services Services
	// Volumes is what volumes need, such as tokens; nil without an API server.
	Volumes volumes.API
	// CSI gives pods the volumes of drivers; nil: there are none.
	CSI volumes.CSI
	// VolumeOperation is told what was done for a volume that is no driver's; nil: nobody wants to
	// know.
	VolumeOperation func(volumes.Operation)
	// Claims prepares resource claims; nil without an API server.
	Claims Claims
}

// Admission is what pods are checked against.
type Admission struct {
	// Host is for new pods, before anything of them is made; nil admits every one.
	Host *admit.Host
	// Room says whether the node has room for a pod that runs here to have other
	// resources: the reason is Deferred or Infeasible (A-ACT-15). nil asks Host.
	Room func(resized *v1.Pod) *admit.Refusal
}

// Clock is the machine's; what is nil is left to the standard library.
type Clock struct {
	// Now is the wall clock.
	Now func() time.Time
	// Machine says how that stands, for the lifepod that goes on with a pod; without it
	// nobody notices that the clock was set while there was no lifepod.
	Machine func() lifecycle.Clock
	// Virtual is the time in which simulated pods live, in the place of the two before; nil: they live in real time.
	Virtual Virtual
	// Order says what comes first of what may come in any order; nil: chance.
	Order Order
}

// Order says which comes first of what goroutines do, so that lives can be led again as they were. Its methods do not block, and
// may be called from any goroutine. of is a pod's UID, or empty for the node.
type Order interface {
	// Deliver calls do when it is a fact's turn to be taken in, after those that were delivered to the same before it.
	Deliver(of types.UID, fact any, do func())
	// Begin calls do when it is the turn of what was asked for to begin, beside who has asked.
	Begin(of types.UID, what any, do func())
}

// Lead has the facts that are posted to a mailbox counted, and delivered in their turn.
func (c Clock) Lead(of types.UID, mail *mailbox.Mailbox[any]) {
	mail.Count(c.Time().Busy)
	if c.Order != nil {
		mail.Ordered(func(fact any, add func()) { c.Order.Deliver(of, fact, add) })
	}
}

// Await asks for the turn of something to begin; wait returns when that has come.
func (c Clock) Await(of types.UID, what any) (wait func()) {
	if c.Order == nil {
		return func() {}
	}
	begun := make(chan struct{})
	c.Order.Begin(of, what, func() { close(begun) })
	return func() { <-begun }
}

// Virtual is a time of its own, which all parts that lead pods go by (package sim/live). Its methods do not block, and may be
// called from any goroutine.
type Virtual interface {
	// Now is what time it is. It never goes back.
	Now() time.Time
	// AfterFunc calls f after d, as time.AfterFunc does.
	AfterFunc(d time.Duration, f func()) Timer
	// Busy says that there is more to do at this moment, or less if change is negative: each fact that nobody has taken in,
	// and each thing that is done beside its worker. A time that somebody moves on by hand waits until nothing is left.
	Busy(change int)
}

// Timer is one of AfterFunc, such as *time.Timer.
type Timer = interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// Time is what pods live by.
func (c Clock) Time() Virtual {
	if c.Virtual != nil {
		return c.Virtual
	}
	return realTime{}
}

// realTime is everybody's.
type realTime struct{}

func (realTime) Now() time.Time                            { return time.Now() }
func (realTime) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
func (realTime) Busy(int)                                  {}

// Timeouts bound the calls of the runtime.
type Timeouts = cri.Timeouts

// DefaultTimeouts are the kubelet's.
func DefaultTimeouts() Timeouts { return cri.DefaultTimeouts() }

func (n *Engine) podDir(uid types.UID) string { return filepath.Join(n.Folders.Pods, string(uid)) }
