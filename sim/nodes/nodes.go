package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/node/groups"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
)

const SimulatedLabel = "lifepod.dev/simulated"

type Options struct {
	API   *rest.Config // of somebody who may do what nodes may do, of all of them
	Count int
	// Prefix begins the names of the nodes, which then are numbered; empty: sim-.
	Prefix string
	Labels map[string]string // beside those that each Node has; SimulatedLabel is added
	Taints []v1.Taint
	Size   Size
	Serve  Serve
	Time   Time

	Pods   *live.Pods // which live in that time
	Faults Faults
	Log    *slog.Logger
}

// Faults is what happens to the nodes, in real time.
type Faults struct {
	Scenario *nodefaults.Scenario // its nodes are chosen by the seed of Options.Pods; nil: nothing happens
	// Tell takes what happens to a node, in words; nil: nobody wants to know. It may be called from many goroutines.
	Tell func(node, what string)
}

func Names(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

type Size struct {
	CPUs        int   // 0: 32
	MemoryBytes int64 // 0: 256 GiB
	Pods        int32 // 0: 110
}

func (s Size) withDefaults() Size {
	return Size{cmp.Or(s.CPUs, 32), cmp.Or(s.MemoryBytes, 256<<30), cmp.Or(s.Pods, 110)}
}

// perSecond is how many nodes begin in a second, so that their Leases are not renewed all at once.
const perSecond = 250

// set is all nodes, and what they share.
type set struct {
	Options
	faults   []nodefaults.Faults
	machines Shared
	shared   shared
	api      *API
	slots    slots
}

// slots have room for requests that are under way.
type slots struct{ statuses, events chan struct{} }

// writingStatuses says that statuses of pods are being written: events would delay them.
func (s slots) writingStatuses() bool { return len(s.statuses) > 0 }

// shared are the watches.
type shared struct {
	sources *source.Shared
	objects *register.Shared
	jobSets *groups.JobSets
}

// Run is the nodes until ctx ends; then the Nodes stay as they are, and the cluster misses their
// Leases. ready is called once, when the cluster knows all of them.
func Run(parent context.Context, o Options, ready func()) error {
	s, err := newSet(o)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := s.api.Run(ctx); err != nil {
			fail(err)
		}
	})
	running.Go(func() { s.shared.sources.Run(ctx) })
	running.Go(func() { s.shared.objects.Run(ctx) })
	running.Go(func() { s.shared.jobSets.Run(ctx) })

	var known sync.WaitGroup
	pace := time.NewTicker(time.Second / perSecond)
	defer pace.Stop()
	for i := range o.Count {
		n, err := s.firstNode(i)
		if err != nil {
			fail(err)
			return err
		}
		known.Add(1)
		running.Go(func() { n.live(ctx, known.Done) })
		select {
		case <-ctx.Done():
			return over(parent, ctx)
		case <-pace.C:
		}
	}
	all := make(chan struct{})
	running.Go(func() { known.Wait(); close(all) })
	select {
	case <-ctx.Done():
		return over(parent, ctx)
	case <-all:
		ready()
	}
	<-ctx.Done()
	return over(parent, ctx)
}

// over is why the nodes end: nil if somebody has asked for it.
func over(parent, ctx context.Context) error {
	if parent.Err() != nil {
		return nil //nolint:nilerr // that is no failure
	}
	return context.Cause(ctx)
}

func newSet(o Options) (*set, error) {
	o.Prefix = cmp.Or(o.Prefix, "sim-")
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	o.Labels[SimulatedLabel] = "true"
	o.Size = o.Size.withDefaults()
	if err := o.Pods.Check(); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.API)
	config.QPS = -1 // the nodes pace themselves
	config.UserAgent = "lifepod-sim-nodes"
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	all := Names(o.Prefix, o.Count)
	s := &set{
		Options: o, faults: o.Faults.Scenario.Of(all, o.Pods.Seed), machines: Shared{Config: config, Client: client, Pods: o.Pods},
		slots: slots{make(chan struct{}, StatusesInFlight), make(chan struct{}, eventsInFlight)},
	}
	if o.Pods.Time, err = o.Time.Begin(client); err != nil {
		return nil, err
	}
	if o.Time.Manual != nil && slices.ContainsFunc(s.faults, func(f nodefaults.Faults) bool { return f.Events != nil }) {
		return nil, errors.New("events of a node scenario happen in real time, which a test can't move on by hand")
	}
	names := make(map[string]bool, o.Count)
	for _, name := range all {
		names[name] = true
	}
	s.shared.sources = &source.Shared{Client: client, Mine: func(name string) bool { return names[name] }, Log: o.Log}
	s.shared.objects = &register.Shared{Client: client, Log: o.Log}
	if s.shared.jobSets, err = groups.NewJobSets(config, o.Log); err != nil {
		return nil, err
	}
	s.machines.jobSets = s.shared.jobSets
	s.api, err = ListenAPI(APIConfig{
		Serve: s.Serve, Cluster: s.API, Client: client, Node: all[0], Pods: s.Pods, Speed: s.Time.Speed, Log: s.Log,
	})
	return s, err
}

// firstNode is a node when its machine starts for the first time.
func (s *set) firstNode(i int) (*node, error) {
	m, err := s.machines.New(fmt.Sprintf("%s%d", s.Prefix, i), s.faults[i])
	if err != nil {
		return nil, err
	}
	return s.newNode(i, m, NewConversion(s.Pods.Time))
}

func uuid(seed uint64, i int) string {
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", seed>>32, seed>>16&0xffff, uint64(i)|seed<<48>>16) //nolint:gosec // never negative
}
