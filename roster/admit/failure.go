package admit

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Failure is one thing that a node lacks for a pod: an amount of a resource, or,
// without a resource, what a predicate asks for.
type Failure struct {
	// Resource is what there is not enough of. The amounts are in thousandths of
	// a CPU, pods, bytes or pieces.
	Resource                  v1.ResourceName
	Requested, Used, Capacity int64

	// Predicate has no room for amounts: NodeAffinity, NodeName, NodePorts, TaintToleration.
	Predicate string
	Text      string
}

// Missing is how much more of the resource there would have to be.
func (f Failure) Missing() int64 { return f.Requested - (f.Capacity - f.Used) }

// Refusal tells of the failure as Kubernetes does (A-ADM-4).
func (f Failure) Refusal() *Refusal {
	if f.Resource == "" {
		return &Refusal{Reason: f.Predicate, Message: fmt.Sprintf("Predicate %s failed: %s", f.Predicate, f.Text)}
	}
	return &Refusal{
		Reason: "OutOf" + string(f.Resource),
		Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			f.Resource, f.Requested, f.Used, f.Capacity),
	}
}
