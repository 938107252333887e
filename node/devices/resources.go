package devices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/numa"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// ResourcesConfig is what Resources need.
type ResourcesConfig struct {
	// Dir has the state files.
	Dir     string
	Kubelet *kubeletconfig.KubeletConfiguration
	// Layout reads where CPUs and memory are; nil: those of this machine. Reserved is what of
	// them no pod may have.
	Layout   func() (numa.Layout, error)
	Reserved v1.ResourceList
	Devices  *Devices
	Runtime  runtimeapi.RuntimeServiceClient
	// Counts is told what admissions have come to; nil: nobody counts.
	Counts ResourceCounts
	Log    *slog.Logger
}

// ResourceCounts counts what pods ask for and get (A-NUMA-19).
type ResourceCounts interface {
	// Admitted is told of a pod; err is why it was refused, if it was.
	Admitted(pod *v1.Pod, t numa.Tally, err error, took time.Duration)
}

// Resources are those of a node. Its methods may be called from anywhere.
type Resources struct {
	// Containers are those that run.
	Containers *Placement

	// immutable
	config ResourcesConfig
	rules  *numa.Resources // the policies, before any pod
	nodes  []int           // of NUMA

	// dirty has the state files written soon. Who is killed before that has what it gave back taken back again by the next agent.
	dirty mailbox.Signal

	// admitting has one pod admitted after the other where hints are asked for: nobody else takes
	// what they are about.
	admitting sync.Mutex

	mu  sync.Mutex
	has *numa.Resources
}

// NewResources goes on with what an agent, or a kubelet, has given before; one of other policies, or on
// another machine, is an error (A-NUMA-15).
func NewResources(c ResourcesConfig) (*Resources, error) {
	var where numa.Layout
	var err error
	if c.Layout == nil {
		c.Layout = ReadLayout
	}
	if !ExclusiveShares(c.Kubelet) {
		if where, err = c.Layout(); err != nil {
			return nil, err
		}
	}
	has, err := NewExclusive(c.Kubelet, where, c.Reserved)
	if err != nil {
		return nil, err
	}
	rules := has.Clone()
	if err := RestoreExclusive(c.Dir, has); err != nil {
		return nil, err
	}
	r := &Resources{config: c, rules: rules, nodes: where.NodeIDs(), has: has, dirty: mailbox.NewSignal()}
	r.Containers = NewPlacement(PlacementConfig{Runtime: c.Runtime, Log: c.Log, On: func(uid types.UID, container string) cpuset.CPUSet {
		return r.of(uid, container).CPUs
	}})
	return r, nil
}

// Asks says whether a pod asks for something by name: a function of its spec.
func (r *Resources) Asks(pod *v1.Pod) bool {
	return r.config.Devices.Asks(pod) || r.rules.Asks(pod)
}

// Allocate gives a pod all that it asks for, or nothing (A-NUMA-1). Plugins may take a while.
func (r *Resources) Allocate(ctx context.Context, pod *v1.Pod) roster.Allocated {
	if r.rules.Topology.Name() != numa.None {
		r.admitting.Lock()
		defer r.admitting.Unlock()
	}
	began := time.Now()
	given := r.config.Devices.Admit(ctx, pod, r.nodes)
	// The devices first, on a copy, since plugins take their time. Then all of it, where the
	// pod has its devices already.
	tally, err := r.copy().Admit(pod, given.Provider())
	if err == nil {
		tally, err = r.give(pod, given.Provider())
	}
	if r.config.Counts != nil {
		r.config.Counts.Admitted(pod, tally, err, time.Since(began))
	}
	answer := roster.Allocated{UID: pod.UID}
	var ended error
	if answer.Given, ended = given.End(err); ended == nil {
		return answer
	}
	if err == nil { // what is given can't be remembered
		r.release(pod.UID)
	}
	why := numa.RefusalOf(ended)
	answer.Refusal = &admit.Refusal{Reason: why.Reason, Message: why.Message}
	if short, is := errors.AsType[*numa.ErrShort](ended); is {
		answer.Lacks = v1.ResourceName(short.Name)
	} else if err != nil && !given.Refused() {
		// Pods that have CPUs or memory for themselves limit both: others may give some back.
		answer.Lacks = v1.ResourceCPU
	}
	return answer
}

func (r *Resources) copy() *numa.Resources {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has.Clone()
}

// give admits a pod, and remembers what it got.
func (r *Resources) give(pod *v1.Pod, devices numa.Provider) (numa.Tally, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.has.Clone()
	tally, err := r.has.Admit(pod, devices)
	if err != nil || !r.rules.Asks(pod) {
		return tally, err
	}
	if err := SaveExclusive(r.config.Dir, r.has); err != nil {
		r.has = before
		return tally, fmt.Errorf("remember which CPUs and memory the pod has: %w", err)
	}
	r.sharedChanged(before)
	return tally, nil
}

// Release takes back what a pod has, at once.
func (r *Resources) Release(uid types.UID) {
	r.config.Devices.Release(uid)
	r.release(uid)
}

func (r *Resources) release(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.has.Holders(), uid) {
		return
	}
	before := r.has.Clone()
	r.has.Release(uid)
	r.dirty.Send()
	r.sharedChanged(before)
}

// Held are the pods that have something.
func (r *Resources) Held() []types.UID {
	r.mu.Lock()
	held := r.has.Holders()
	r.mu.Unlock()
	held = append(held, r.config.Devices.Held()...)
	slices.Sort(held)
	return slices.Compact(held)
}

// Assigned is what a container is created with: its devices, and on which CPUs and NUMA nodes it
// runs.
func (r *Resources) Assigned(ctx context.Context, pod *v1.Pod, container *v1.Container) (criconfig.Assigned, error) {
	all, err := r.config.Devices.Assigned(ctx, pod, container)
	part := r.of(pod.UID, container.Name)
	all.CPUs, all.MemoryNodes = part.CPUs.String(), part.Mems()
	return all, err
}

// Fixed is what Guaranteed pods have for themselves, so that a resize can't change it, unless
// feature gates say that they keep what they have (A-ACT-15).
func (r *Resources) Fixed() roster.Fixed {
	return FixedResources(r.config.Kubelet)
}

func (r *Resources) of(uid types.UID, container string) numa.Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has.Of(uid, container)
}

// sharedChanged has containers moved if those that share CPUs have others now.
func (r *Resources) sharedChanged(before *numa.Resources) {
	if r.rules.CPUs != nil && !r.has.CPUs.State().Shared.Equals(before.CPUs.State().Shared) {
		r.Containers.LookAll()
	}
}
