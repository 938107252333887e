package lifecycle

import v1 "k8s.io/api/core/v1"

// OwnsCondition says that a condition is the node's own, which ConditionSet
// cannot change (A-COND-1).
func OwnsCondition(t v1.PodConditionType) bool { return nodeCondition(t) }
