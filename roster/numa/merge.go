package numa

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
