package numa

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
)

// Resources are those of one node. The zero value is a node on which all containers share
// everything.
type Resources struct {
	CPUs     *StaticCPUs   // nil: the policy none
	Memory   *StaticMemory // nil: the policy None
	Topology Policy
}

var errSockets = errors.New("topology manager policy single-numa-node is incompatible with CPU manager policy option align-by-socket")

// Check says which policies contradict each other.
func (r *Resources) Check() error {
	if r.CPUs != nil && r.CPUs.AlignsBySocket() && r.Topology.Name() == SingleNUMANode {
		return errSockets
	}
	return nil
}

// Asks says whether a pod may have something for itself. A resize of its containers doesn't
// change that.
func (r *Resources) Asks(pod *v1.Pod) bool {
	return r.Any() && lifecycle.QOSClass(pod) == v1.PodQOSGuaranteed && !resourcehelper.IsPodLevelResourcesSet(pod)
}

// Any says whether containers can have something for themselves.
func (r *Resources) Any() bool { return r.CPUs != nil || r.Memory != nil }

// Clone returns an independent copy.
func (r *Resources) Clone() *Resources {
	c := *r
	if r.CPUs != nil {
		c.CPUs = r.CPUs.Clone()
	}
	if r.Memory != nil {
		c.Memory = r.Memory.Clone()
	}
	return &c
}

// Admit gives the containers of a pod what they get for themselves, or refuses the pod and
// gives it nothing. What it has already, it keeps. Others give what is theirs first, and take
// it back from a pod that is refused. topology.RefusalOf is what the pod's status says of an
// error.
func (r *Resources) Admit(pod *v1.Pod, others ...Provider) (t Tally, err error) {
	admitted := r.Clone()
	others = slices.Clone(others)
	if r.CPUs != nil {
		asks := func(pod *v1.Pod, container *v1.Container) bool { return containerCPUs(pod, container) > 0 }
		others = append(others, tallied{Provider: admitted.CPUs, asks: asks, in: &t.CPUs})
	}
	if r.Memory != nil {
		asks := func(pod *v1.Pod, _ *v1.Container) bool { return keeps(pod) }
		others = append(others, tallied{Provider: admitted.Memory, asks: asks, in: &t.Memory})
	}
	if err = r.Topology.Admit(pod, others); err == nil {
		*r = *admitted
	}
	t.aligned(pod, r.CPUs)
	return t, err
}

// Release takes back what a pod has.
func (r *Resources) Release(uid types.UID) {
	if r.CPUs != nil {
		r.CPUs.Release(uid)
	}
	if r.Memory != nil {
		r.Memory.Release(uid)
	}
}

// Started says that a container of a pod was created: regular init containers before it
// have ended, and what is not needed any more of their memory is free (A-NUMA-13).
func (r *Resources) Started(pod *v1.Pod, container string) {
	if r.Memory != nil {
		r.Memory.Started(pod, container)
	}
}

// Holders are the pods that have something, in the order of their UIDs.
func (r *Resources) Holders() []types.UID {
	var uids []types.UID
	if r.CPUs != nil {
		uids = append(uids, r.CPUs.Holders()...)
	}
	if r.Memory != nil {
		uids = append(uids, r.Memory.Holders()...)
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// Part is what a container runs on.
type Part struct {
	// CPUs are its own, or those that all others share; empty: any.
	CPUs cpuset.CPUSet
	// Own: nobody else runs on the CPUs.
	Own bool
	// MemoryNodes are the NUMA nodes whose memory it may use, the lowest first; nil: all.
	MemoryNodes []int
}

// Of is what a container runs on.
func (r *Resources) Of(uid types.UID, container string) Part {
	var p Part
	if r.CPUs != nil {
		p.CPUs, p.Own = r.CPUs.Of(uid, container)
	}
	if r.Memory != nil {
		p.MemoryNodes = r.Memory.NodesOf(uid, container)
	}
	return p
}

// Mems are the memory nodes as in cpuset.mems; empty: all.
func (p Part) Mems() string {
	nodes := make([]string, 0, len(p.MemoryNodes))
	for _, n := range p.MemoryNodes {
		nodes = append(nodes, strconv.Itoa(n))
	}
	return strings.Join(nodes, ",")
}
