package numa

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

var _ Provider = (*StaticMemory)(nil)

// Allocate keeps memory for a container.
func (s *StaticMemory) Allocate(pod *v1.Pod, container *v1.Container, hint Hint) error {
	if !keeps(pod) {
		return nil
	}
	uid := string(pod.UID)
	if blocks := s.state.Given[uid][container.Name]; blocks != nil {
		s.reuse(pod, container, blocks)
		return nil
	}
	wants, err := containerMemory(container)
	if err != nil {
		return err
	}
	best, err := s.place(wants, hint)
	if err != nil {
		return err
	}
	var blocks []Block
	for _, name := range sortedNames(wants) {
		size := wants[name]
		blocks = append(blocks, Block{NUMAAffinity: best.Nodes(), Type: name, Size: size})
		s.state.hold(best.Nodes(), name, size-min(size, s.reusable[best][name]))
	}
	s.reuse(pod, container, blocks)
	s.state.give(uid, container.Name, blocks)
	s.shrinkInits(pod, container, blocks)
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
func (s *StaticMemory) place(wants amounts, hint Hint) (Mask, error) {
	best := hint
	if best.Nodes == 0 {
		found := s.hints(wants)
		if len(found) == 0 {
			return 0, errNoNodes
		}
		if best = bestOf(found); !best.Preferred && hint.Preferred {
			return 0, errNoPreferred
		}
	}
	if free, _ := s.state.totals(best.Nodes, wants); !covers(free, wants) {
		var wider []Hint
		for _, h := range s.hints(wants) {
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
	if nodes := best.Nodes.Nodes(); len(nodes) > 1 && s.state.mixes(nodes) {
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
func (s *StaticMemory) reuse(pod *v1.Pod, container *v1.Container, blocks []Block) {
	ends := lifecycle.EndsBeforeOthers(pod, container)
	for _, b := range blocks {
		nodes, err := MaskOf(b.NUMAAffinity...)
		if err != nil {
			continue
		}
		if s.reusable[nodes] == nil {
			s.reusable[nodes] = amounts{}
		}
		of := s.reusable[nodes]
		if ends {
			of[b.Type] = max(of[b.Type], b.Size)
		} else {
			of[b.Type] -= min(of[b.Type], b.Size)
		}
	}
}

// shrinkInits takes from the blocks of init containers what a container reuses of them, so
// that all blocks together are what the pod holds.
func (s *StaticMemory) shrinkInits(pod *v1.Pod, container *v1.Container, blocks []Block) {
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
			has := s.state.Given[string(pod.UID)][c.Name]
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
