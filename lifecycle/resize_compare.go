package lifecycle

import (
	v1 "k8s.io/api/core/v1"
)

// anyGrows says whether the pod as a whole or some container has more in the last of the
// allocations than in one before.
func anyGrows(held []Allocation, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return LimitGrows(was, is, name) || CompareResources(is.Requests, was.Requests, name) > 0
	})
}

// anyShrinks says whether the pod as a whole or some container has less.
func anyShrinks(held []Allocation, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return LimitShrinks(was, is, name) || CompareResources(is.Requests, was.Requests, name) < 0
	})
}

func anyMemoryLimitShrinks(held []Allocation) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool { return LimitShrinks(was, is, v1.ResourceMemory) })
}

func anyChange(held []Allocation, found func(was, is v1.ResourceRequirements) bool) bool {
	last := held[len(held)-1]
	for _, older := range held[:len(held)-1] {
		if found(orNone(older.Pod), orNone(last.Pod)) {
			return true
		}
		for i := range last.Containers {
			if found(older.Containers[i].Resources, last.Containers[i].Resources) {
				return true
			}
		}
	}
	return false
}

func orNone(r *v1.ResourceRequirements) v1.ResourceRequirements {
	if r == nil {
		return v1.ResourceRequirements{}
	}
	return *r
}
