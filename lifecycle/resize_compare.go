package lifecycle

import v1 "k8s.io/api/core/v1"

func sameCPUAndMemory(a, b v1.ResourceRequirements) bool {
	return sameResource(a, b, v1.ResourceCPU) && sameResource(a, b, v1.ResourceMemory)
}

func sameResource(a, b v1.ResourceRequirements, name v1.ResourceName) bool {
	return compare(a.Limits, b.Limits, name) == 0 && compare(a.Requests, b.Requests, name) == 0
}

// compare takes what is not there for zero.
func compare(a, b v1.ResourceList, name v1.ResourceName) int {
	q := a[name]
	return q.Cmp(b[name])
}

// growsTo says whether a change makes more of a resource: of its limit if that
// changes, else of its request.
func growsTo(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	if limitGrows(was, is, name) || limitShrinks(was, is, name) {
		return limitGrows(was, is, name)
	}
	return compare(is.Requests, was.Requests, name) > 0
}

// limitShrinks and limitGrows take no limit for the greatest.
func limitShrinks(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	return limitGrows(is, was, name)
}

func limitGrows(was, is v1.ResourceRequirements, name v1.ResourceName) bool {
	from, to := was.Limits[name], is.Limits[name]
	return !from.IsZero() && (to.IsZero() || to.Cmp(from) > 0)
}

// anyGrows says whether some container has more in the last of the allocations
// than in one before.
func anyGrows(held [][]ContainerResources, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return limitGrows(was, is, name) || compare(is.Requests, was.Requests, name) > 0
	})
}

// anyShrinks says whether some container has less.
func anyShrinks(held [][]ContainerResources, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return limitShrinks(was, is, name) || compare(is.Requests, was.Requests, name) < 0
	})
}

func anyMemoryLimitShrinks(held [][]ContainerResources) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool { return limitShrinks(was, is, v1.ResourceMemory) })
}

func anyChange(held [][]ContainerResources, found func(was, is v1.ResourceRequirements) bool) bool {
	last := held[len(held)-1]
	for _, older := range held[:len(held)-1] {
		for i := range last {
			if found(older[i].Resources, last[i].Resources) {
				return true
			}
		}
	}
	return false
}

// withResource is base with one resource as another has it.
func withResource(base, from v1.ResourceRequirements, name v1.ResourceName) v1.ResourceRequirements {
	return v1.ResourceRequirements{
		Limits:   withQuantity(base.Limits, from.Limits, name),
		Requests: withQuantity(base.Requests, from.Requests, name),
		Claims:   from.Claims,
	}
}

func withQuantity(base, from v1.ResourceList, name v1.ResourceName) v1.ResourceList {
	out := base.DeepCopy()
	delete(out, name)
	q, found := from[name]
	if !found {
		return out
	}
	if out == nil {
		out = v1.ResourceList{}
	}
	out[name] = q.DeepCopy()
	return out
}
