package numa

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
)

// StaticCPUs is the policy static of one machine.
type StaticCPUs struct {
	machine  cpuMachine
	options  CPUOptions
	reserved cpuset.CPUSet // for the machine's own programs; shared at most
	// reservedCores are all CPUs of the cores of reserved.
	reservedCores cpuset.CPUSet
	state         CPUState
	// reusable are the CPUs of init containers of the pod that is being admitted, which have
	// ended when its other containers start.
	reusable cpuset.CPUSet
}

var _ Provider = (*StaticCPUs)(nil)

// NewStaticCPUs returns the policy before any pod. Of a machine's CPUs some are reserved: a set, or,
// if that is empty, so many, from the first core on (A-NUMA-3).
func NewStaticCPUs(layout Layout, reserved cpuset.CPUSet, count int, options CPUOptions) (*StaticCPUs, error) {
	s := &StaticCPUs{machine: machineOf(layout), options: options}
	if options.AlignBySocket && s.machine.sockets > s.machine.nodes {
		return nil, errSocketsAboveNodes
	}
	all := s.machine.cpus()
	if reserved.IsEmpty() {
		reserved, _ = s.take(all, count) // if there are not enough, it is empty
	}
	if reserved.Size() != count || !reserved.IsSubsetOf(all) {
		return nil, fmt.Errorf("unable to reserve the required amount of CPUs (size of %q did not equal %d) of %q", reserved, count, all)
	}
	s.reserved = reserved
	s.reservedCores = s.machine.in(core, s.machine.only(reserved).groups(core).UnsortedList()...)
	s.state = CPUState{Shared: all, Given: map[types.UID]map[string]cpuset.CPUSet{}}
	if options.Strict {
		s.state.Shared = all.Difference(reserved)
	}
	return s, nil
}

// Restore goes on with a state of before. A state that has nothing is as good as none.
func (s *StaticCPUs) Restore(state CPUState) error {
	if state.Shared.IsEmpty() && len(state.Given) == 0 {
		return nil
	}
	if err := state.check(s.machine.cpus(), s.reserved, s.options.Strict); err != nil {
		return err
	}
	s.state = state.Clone()
	return nil
}

// AlignsBySocket says whether the option align-by-socket is on.
func (s *StaticCPUs) AlignsBySocket() bool { return s.options.AlignBySocket }

// State is who has which CPUs now. It must not be changed.
func (s *StaticCPUs) State() CPUState { return s.state }

// Allocatable are the CPUs that containers can have for themselves.
func (s *StaticCPUs) Allocatable() cpuset.CPUSet { return s.machine.cpus().Difference(s.reserved) }

// Of are the CPUs on which a container runs, and whether it has them for itself.
func (s *StaticCPUs) Of(uid types.UID, container string) (set cpuset.CPUSet, own bool) {
	if set, own = s.state.Given[uid][container]; own {
		return set, true
	}
	return s.state.Shared, false
}

// Holders are the pods that have CPUs for themselves.
func (s *StaticCPUs) Holders() []types.UID {
	uids := make([]types.UID, 0, len(s.state.Given))
	for uid := range s.state.Given {
		uids = append(uids, uid)
	}
	return uids
}

// Release returns the CPUs of a pod to all.
func (s *StaticCPUs) Release(uid types.UID) {
	if _, has := s.state.Given[uid]; has {
		s.state = s.state.Clone()
		s.state.release(uid)
	}
}

// Clone returns an independent copy, to which a pod can be admitted.
func (s *StaticCPUs) Clone() *StaticCPUs {
	c := *s
	c.state, c.reusable = s.state.Clone(), cpuset.CPUSet{}
	return &c
}

// Allocate gives a container the CPUs that it asks for.
func (s *StaticCPUs) Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error {
	count := containerCPUs(pod, container)
	if count == 0 {
		return nil
	}
	set, has := s.state.Given[pod.UID][container.Name]
	if !has { // what it has it keeps, also a part of a core
		err := s.checkCores(count)
		if err != nil {
			return err
		}
		if set, err = s.choose(count, hint.Nodes, s.reusable); err != nil {
			return err
		}
		s.state.give(pod.UID, container.Name, set)
	}
	if lifecycle.EndsBeforeOthers(pod, container) {
		s.reusable = s.reusable.Union(set)
	} else {
		s.reusable = s.reusable.Difference(set)
	}
	return nil
}

// checkCores refuses a container that would share a core, if none may (A-NUMA-7).
func (s *StaticCPUs) checkCores(count int) error {
	if !s.options.WholeCores {
		return nil
	}
	per := s.machine.perCore()
	if count%per != 0 {
		return &Refusal{Reason: "SMTAlignmentError", Message: fmt.Sprintf(
			"SMT Alignment Error: requested %d cpus not multiple cpus per core = %d", count, per)}
	}
	if free := s.state.Shared.Difference(s.reservedCores).Size(); count > free {
		return &Refusal{Reason: "SMTAlignmentError", Message: fmt.Sprintf(
			"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = %d, requested CPUs = %d, CPUs per core = %d", free, count, per)}
	}
	return nil
}

// choose takes as many of the CPUs as possible from some NUMA nodes, and the rest from
// anywhere.
func (s *StaticCPUs) choose(count int, nodes Mask, reusable cpuset.CPUSet) (cpuset.CPUSet, error) {
	from, chosen := s.free().Union(reusable), cpuset.New()
	if nodes != 0 {
		near := s.near(nodes, from)
		var err error
		if chosen, err = s.take(near, min(count, near.Size())); err != nil {
			return chosen, err
		}
	}
	rest, err := s.take(from.Difference(chosen), count-chosen.Size())
	return chosen.Union(rest), err
}

// free are the CPUs that a container can have for itself now.
func (s *StaticCPUs) free() cpuset.CPUSet { return s.state.Shared.Difference(s.reserved) }

// near are those of some CPUs that are on some NUMA nodes, or on their sockets.
func (s *StaticCPUs) near(nodes Mask, from cpuset.CPUSet) cpuset.CPUSet {
	found := s.machine.in(node, nodes.Nodes()...)
	if s.options.AlignBySocket {
		found = s.machine.in(socket, s.machine.only(found).groups(socket).UnsortedList()...)
	}
	return from.Intersection(found)
}

func (s *StaticCPUs) take(from cpuset.CPUSet, count int) (cpuset.CPUSet, error) {
	if s.options.AcrossNodes {
		return takeDistributed(s.machine, from, count, s.options)
	}
	return takePacked(s.machine, from, count, s.options)
}
