package lifecycle

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle/resources"
)

// anyGrows says whether some container has more in the last of the allocations
// than in one before.
func anyGrows(held [][]ContainerResources, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return resources.LimitGrows(was, is, name) || resources.Compare(is.Requests, was.Requests, name) > 0
	})
}

// anyShrinks says whether some container has less.
func anyShrinks(held [][]ContainerResources, name v1.ResourceName) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool {
		return resources.LimitShrinks(was, is, name) || resources.Compare(is.Requests, was.Requests, name) < 0
	})
}

func anyMemoryLimitShrinks(held [][]ContainerResources) bool {
	return anyChange(held, func(was, is v1.ResourceRequirements) bool { return resources.LimitShrinks(was, is, v1.ResourceMemory) })
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
