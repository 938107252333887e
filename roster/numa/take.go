package numa

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
)

// taking gathers CPUs one group at a time.
type taking struct {
	machine cpuMachine
	free    places // not taken yet
	needs   int    // how many are still missing
	taken   cpuset.CPUSet
	spread  bool // over cores, instead of packed into them
}

func newTaking(m cpuMachine, available cpuset.CPUSet, count int, spread bool) (*taking, error) {
	t := &taking{machine: m, free: m.only(available), needs: count, spread: spread}
	if count > len(t.free) {
		return nil, fmt.Errorf("not enough cpus available to satisfy request: requested=%d, available=%d", count, available.Size())
	}
	return t, nil
}

// nodesAreLarger says whether a NUMA node has at least one whole socket.
func (m cpuMachine) nodesAreLarger() bool { return m.sockets >= m.nodes }

// nodes lists the NUMA nodes with free CPUs, in the order in which they are used.
func (t *taking) nodes() []int {
	if t.machine.nodesAreLarger() {
		return t.free.order(node)
	}
	return t.free.order(socket, node)
}

// sockets lists the sockets.
func (t *taking) sockets() []int {
	if t.machine.nodesAreLarger() {
		return t.free.order(node, socket)
	}
	return t.free.order(socket)
}

// cores lists the cores.
func (t *taking) cores() []int {
	if t.machine.nodesAreLarger() {
		return t.free.order(node, socket, core)
	}
	return t.free.order(socket, node, core)
}

// uncores lists the uncore caches.
func (t *taking) uncores() []int {
	var ids []int
	for _, id := range t.nodes() {
		ids = append(ids, t.free.emptiestFirst(uncore, t.free.only(t.free.in(node, id)).groups(uncore))...)
	}
	return ids
}

// cpus lists single CPUs.
func (t *taking) cpus() []int {
	of, ids := core, t.cores
	if t.spread {
		of, ids = socket, t.sockets
	}
	var list []int
	for _, id := range ids() {
		list = append(list, t.free.in(of, id).List()...)
	}
	return list
}

func (t *taking) done() bool { return t.needs < 1 }

func (t *taking) take(set cpuset.CPUSet) {
	t.taken = t.taken.Union(set)
	t.free = t.free.only(t.free.cpus().Difference(t.taken))
	t.needs -= set.Size()
}

// takeWhole takes groups of which all CPUs are free, as long as they are needed.
func (t *taking) takeWhole(of level, ids []int, isFree func(id int) bool) {
	var free []int
	for _, id := range ids {
		if isFree(id) {
			free = append(free, id)
		}
	}
	for _, id := range free {
		if all := t.machine.in(of, id); t.needs >= all.Size() {
			t.take(all)
		}
	}
}

// takeWholeLevel is takeWhole of the level's kind.
func (t *taking) takeWholeLevel(of level, ids []int) {
	t.takeWhole(of, ids, func(id int) bool { return t.free.in(of, id).Size() == t.machine.in(of, id).Size() })
}

// takeWholeOuter takes whole sockets and NUMA nodes, the larger ones first.
func (t *taking) takeWholeOuter() {
	nodes := func() { t.takeWholeLevel(node, t.nodes()) }
	sockets := func() {
		t.takeWhole(socket, t.sockets(), func(id int) bool { return t.free.in(socket, id).Size() == t.machine.perSocket() })
	}
	if t.machine.nodesAreLarger() {
		nodes()
		if !t.done() {
			sockets()
		}
		return
	}
	sockets()
	if !t.done() {
		nodes()
	}
}

// takeWholeCores takes cores of which all CPUs are free.
func (t *taking) takeWholeCores() {
	t.takeWhole(core, t.cores(), func(id int) bool { return t.free.in(core, id).Size() == t.machine.perCore() })
}

// takeRest takes single CPUs.
func (t *taking) takeRest() {
	for _, id := range t.cpus() {
		t.take(cpuset.New(id))
		if t.done() {
			return
		}
	}
}

var errAccounting = errors.New("failed to allocate cpus")

// takePacked takes CPUs that are as close to each other as possible: whole NUMA nodes and
// sockets, then uncore caches if asked for, whole cores, and single CPUs, each from where
// the fewest are free (A-NUMA-5).
func takePacked(m cpuMachine, available cpuset.CPUSet, count int, o CPUOptions) (cpuset.CPUSet, error) {
	t, err := newTaking(m, available, count, o.AcrossCores)
	if err != nil || t.done() {
		return cpuset.New(), err
	}
	steps := []func(){t.takeWholeOuter}
	if o.ByUncoreCache {
		steps = append(steps, t.takeUncores)
	}
	if !t.spread {
		steps = append(steps, t.takeWholeCores)
	}
	for _, step := range append(steps, t.takeRest) {
		if step(); t.done() {
			return t.taken, nil
		}
	}
	return cpuset.New(), errAccounting
}

// Tally is what the containers of a pod have asked for at its admission, and what has come of
// it (A-NUMA-19).
type Tally struct {
	CPUs, Memory Asked
	OneCache     int // containers whose CPUs share an uncore cache
}

// Figures are those of now; none without a policy.
func (r *Resources) Figures() Figures {
	if r.CPUs == nil {
		return Figures{}
	}
	return r.CPUs.Figures()
}

// Asked is how many containers have asked for something, and how many could not have it. The
// others after such a one are not asked.
type Asked struct{ Containers, Errors int }

// tallied counts what is asked of a provider.
type tallied struct {
	Provider
	asks func(*v1.Pod, *v1.Container) bool
	in   *Asked
}

// Allocate counts, and has the provider do it.
func (t tallied) Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error {
	if t.asks(pod, container) {
		t.in.Containers++
	}
	err := t.Provider.Allocate(pod, container, hint)
	if err != nil {
		t.in.Errors++
	}
	return err
}

// aligned adds how the CPUs that a pod has now are aligned.
func (t *Tally) aligned(pod *v1.Pod, by *StaticCPUs) {
	if by == nil {
		return
	}
	for _, c := range lifecycle.Containers(pod) {
		if by.OneCache(pod.UID, c.Name) {
			t.OneCache++
		}
	}
}
