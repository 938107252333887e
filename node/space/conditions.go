package space

import (
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

// Conditions are those of pressure that the Node has.
type Conditions struct {
	now atomic.Pointer[[]v1.NodeConditionType]
}

// Under says whether the Node has a condition.
func (c *Conditions) Under(condition v1.NodeConditionType) bool {
	now := c.now.Load()
	return now != nil && slices.Contains(*now, condition)
}
