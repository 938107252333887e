package numa

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// MemoryAdmission is the admission of one pod: what it changes holds when it is committed.
type MemoryAdmission struct {
	state MemoryState
	// reusable is the memory of init containers of the pod, which have ended when its other
	// containers start, by the nodes on which it is.
	reusable map[Mask]amounts
}

var _ Provider = (*MemoryAdmission)(nil)

// Admit begins the admission of a pod.
func (s *StaticMemory) Admit() *MemoryAdmission {
	return &MemoryAdmission{state: s.state.Clone(), reusable: map[Mask]amounts{}}
}

// Commit takes over what an admission that was begun last has given.
func (s *StaticMemory) Commit(a *MemoryAdmission) { s.state = a.state }

// Allocate keeps memory for a container.
func (a *MemoryAdmission) Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error {
	if !keeps(pod) {
		return nil
	}
	uid := string(pod.UID)
	if blocks := a.state.Given[uid][container.Name]; blocks != nil {
		a.reuse(pod, container, blocks)
		return nil
	}
	wants, err := containerMemory(container)
	if err != nil {
		return err
	}
	best, err := a.place(wants, hint)
	if err != nil {
		return err
	}
	var blocks []Block
	for _, name := range sortedNames(wants) {
		size := wants[name]
		blocks = append(blocks, Block{NUMAAffinity: best.Nodes(), Type: name, Size: size})
		a.state.hold(best.Nodes(), name, size-min(size, a.reusable[best][name]))
	}
	a.reuse(pod, container, blocks)
	a.state.give(uid, container.Name, blocks)
	a.shrinkInits(pod, container, blocks)
	return nil
}

var (
	errNoNodes     = errors.New("[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available")
	errNoPreferred = errors.New("[memorymanager] failed to find the default preferred hint")
	errNoExtension = errors.New("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
	errNoExtended  = errors.New("[memorymanager] failed to find the extended preferred hint")
	errViolates    = errors.New("[memorymanager] preferred hint violates NUMA node allocation")
)

// place decides on which nodes memory is kept: those of the hint, with others if they don't
// have enough; without a hint, the best ones.
func (a *MemoryAdmission) place(wants amounts, hint Hint) (Mask, error) {
	best := hint
	if best.Nodes == 0 {
		found := a.hints(wants)
		if len(found) == 0 {
			return 0, errNoNodes
		}
		if best = bestOf(found); !best.Preferred && hint.Preferred {
			return 0, errNoPreferred
		}
	}
	if free, _ := a.state.totals(best.Nodes, wants); !covers(free, wants) {
		var wider []Hint
		for _, h := range a.hints(wants) {
			if h.Nodes&best.Nodes == best.Nodes {
				wider = append(wider, h)
			}
		}
		if len(wider) == 0 {
			return 0, errNoExtension
		}
		extended := bestOf(wider)
		if !extended.Preferred && best.Preferred {
			return 0, errNoExtended
		}
		best = extended
	}
	if nodes := best.Nodes.Nodes(); len(nodes) > 1 && a.state.mixes(nodes) {
		return 0, errViolates
	}
	return best.Nodes, nil
}

// bestOf is the narrowest of the preferred hints, else of all.
func bestOf(hints []Hint) Hint {
	best := hints[0]
	for _, h := range hints[1:] {
		if h.Preferred && !best.Preferred || h.Preferred == best.Preferred && h.Nodes.NarrowerThan(best.Nodes) {
			best = h
		}
	}
	return best
}

// reuse has later containers use the memory of an init container that ends before them,
// which the others use up.
func (a *MemoryAdmission) reuse(pod *v1.Pod, container *v1.Container, blocks []Block) {
	ends := lifecycle.EndsBeforeOthers(pod, container)
	for _, b := range blocks {
		nodes, err := MaskOf(b.NUMAAffinity...)
		if err != nil {
			continue
		}
		if a.reusable[nodes] == nil {
			a.reusable[nodes] = amounts{}
		}
		of := a.reusable[nodes]
		if ends {
			of[b.Type] = max(of[b.Type], b.Size)
		} else {
			of[b.Type] -= min(of[b.Type], b.Size)
		}
	}
}

// shrinkInits takes from the blocks of init containers what a container reuses of them, so
// that all blocks together are what the pod holds.
func (a *MemoryAdmission) shrinkInits(pod *v1.Pod, container *v1.Container, blocks []Block) {
	for _, b := range blocks {
		left := b.Size
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			if c.Name == container.Name || left == 0 {
				break
			}
			if lifecycle.IsSidecar(c) {
				continue
			}
			has := a.state.Given[string(pod.UID)][c.Name]
			for j := range has {
				if has[j].Type == b.Type && sameNodes(has[j].NUMAAffinity, b.NUMAAffinity) {
					part := min(left, has[j].Size)
					has[j].Size -= part
					left -= part
				}
			}
		}
	}
}
