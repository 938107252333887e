package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// OwnsCondition says that a condition is the node's own, which ConditionSet
// cannot change (A-COND-1).
func OwnsCondition(t v1.PodConditionType) bool { return nodeCondition(t) }

// StopAsked says whether somebody has asked for the pod's end (B-WRK-2), and
// when its grace ends.
func (m *Machine) StopAsked() (deadline time.Time, asked bool) {
	return m.stop.deadline, m.deleted
}
