package numa

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the policies and scopes (A-NUMA-9).
const (
	None           = "none"
	BestEffort     = "best-effort"
	Restricted     = "restricted"
	SingleNUMANode = "single-numa-node"

	ContainerScope = "container"
	PodScope       = "pod"
)

// Policies and Scopes are all that there are.
var (
	Policies = []string{None, BestEffort, Restricted, SingleNUMANode}
	Scopes   = []string{ContainerScope, PodScope}
)

// Policy merges hints, and decides whether the result is good enough. The zero value is
// the policy none, which asks for none.
type Policy struct {
	name  string
	scope string
	merger
}

// NewPolicy returns a policy for a machine.
func NewPolicy(name, scope string, options Options, layout Layout) (Policy, error) {
	switch {
	case name == None:
		return Policy{}, nil
	case !slices.Contains(Policies, name):
		return Policy{}, fmt.Errorf("unknown policy %q: should be one of %s", name, strings.Join(Policies, ", "))
	case !slices.Contains(Scopes, scope):
		return Policy{}, fmt.Errorf("unknown scope %q: should be one of %s", scope, strings.Join(Scopes, ", "))
	case len(layout.Nodes) > options.MaxNodes:
		return Policy{}, fmt.Errorf("unsupported on machines with more than %d NUMA Nodes", options.MaxNodes)
	}
	every, err := MaskOf(layout.NodeIDs()...)
	if err != nil {
		return Policy{}, err
	}
	p := Policy{name: name, scope: scope, merger: merger{every: every, fitter: Mask.NarrowerThan}}
	if !options.PreferClosest {
		return p, nil
	}
	for _, n := range layout.Nodes {
		if n.Distances == nil {
			return Policy{}, fmt.Errorf("option %s: the machine doesn't tell the distances of NUMA node %d", preferClosest, n.ID)
		}
	}
	if name != SingleNUMANode {
		p.fitter = closer(distancesOf(layout))
	}
	return p, nil
}

// closer prefers the smaller set, then the one whose nodes are nearer to each other.
func closer(d distances) func(a, b Mask) bool {
	return func(a, b Mask) bool {
		if a.Count() != b.Count() {
			return a.NarrowerThan(b)
		}
		if da, db := d.sum(a), d.sum(b); da != db {
			return da < db
		}
		return a < b
	}
}

// Name is the policy's.
func (p Policy) Name() string {
	if p.name == "" {
		return None
	}
	return p.name
}

// Merge finds the best hint, and says whether the policy admits the pod with it.
func (p Policy) Merge(hints []Hints) (best Hint, admitted bool) {
	lists := flatten(hints)
	if p.name == SingleNUMANode {
		lists = onOneNode(lists)
	}
	m := p.merger
	m.need = widestNeed(lists)
	best = m.merge(lists)
	if p.name == SingleNUMANode && best.Nodes == p.every {
		best.Nodes = 0
	}
	return best, best.Preferred || p.name == BestEffort
}

// merger finds the best hint in which all resources agree.
type merger struct {
	every Mask // all nodes of the machine
	// need is the number of nodes that the most demanding resource takes at least: among
	// hints that nobody prefers, the one closest to it from below is the best.
	need int
	// fitter says whether the first of two sets is better, when nothing else tells.
	fitter func(a, b Mask) bool
}

// merge tries every combination of one hint of each resource.
func (m merger) merge(lists [][]Hint) Hint {
	var best *Hint
	var choose func(i int, merged Hint, first Mask)
	choose = func(i int, merged Hint, first Mask) {
		if i == len(lists) {
			if merged.Nodes != 0 && (best == nil || m.better(*best, merged)) {
				best = &merged
			}
			return
		}
		for _, h := range lists[i] {
			next, common := merged, first
			next.Preferred = next.Preferred && h.Preferred
			if h.Nodes != 0 {
				if common == 0 {
					common = h.Nodes
				}
				next.Nodes &= h.Nodes
				next.Preferred = next.Preferred && h.Nodes == common // they all mean the same nodes
			}
			choose(i+1, next, common)
		}
	}
	choose(0, Hint{Nodes: m.every, Preferred: true}, 0)
	if best == nil {
		return Hint{Nodes: m.every}
	}
	return *best
}

// better says whether a candidate takes the place of the best hint so far.
func (m merger) better(best, candidate Hint) bool {
	if best.Preferred != candidate.Preferred {
		return candidate.Preferred
	}
	if best.Nodes == candidate.Nodes {
		return false
	}
	was, is := best.Nodes.Count(), candidate.Nodes.Count()
	switch {
	case best.Preferred, was > m.need:
		return !m.fitter(best.Nodes, candidate.Nodes)
	case was == m.need:
		return is == m.need && !m.fitter(best.Nodes, candidate.Nodes)
	case is > m.need, is < was:
		return false
	case is == m.need, is > was:
		return true
	}
	return !m.fitter(best.Nodes, candidate.Nodes)
}
