package admit

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/lifecycle"
)

var (
	noAffinity   = Failure{Predicate: "NodeAffinity", Text: "node(s) didn't match Pod's node affinity/selector"}
	noName       = Failure{Predicate: "NodeName", Text: "node(s) didn't match the requested node name"}
	noPorts      = Failure{Predicate: "NodePorts", Text: "node(s) didn't have free ports for the requested pod ports"}
	noToleration = Failure{Predicate: "TaintToleration", Text: "node(s) had taints that the pod didn't tolerate"}
)

// Failures is all that the node lacks for the pod beside the others, in the order
// of Kubernetes; none if it fits.
func Failures(candidate *v1.Pod, others Others, node *v1.Node) []Failure {
	failures := insufficient(candidate, others, node)
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(candidate).Match(node); err != nil || !matches {
		failures = append(failures, noAffinity)
	}
	if name := candidate.Spec.NodeName; name != "" && name != node.Name {
		failures = append(failures, noName)
	}
	if portsConflict(candidate, others) {
		failures = append(failures, noPorts)
	}
	if !lifecycle.Static(candidate) && !tolerates(candidate, node) {
		failures = append(failures, noToleration)
	}
	return failures
}

// Admit is nil for a pod that the node has room for without preemption, else the
// first failure.
func Admit(candidate *v1.Pod, others Others, node *v1.Node) *Refusal {
	failures := Failures(candidate, others, node)
	if len(failures) == 0 {
		return nil
	}
	return failures[0].Refusal()
}

// tolerates looks at taints that end pods only: the others are the scheduler's.
func tolerates(candidate *v1.Pod, node *v1.Node) bool {
	ends := func(taint *v1.Taint) bool { return taint.Effect == v1.TaintEffectNoExecute }
	_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, candidate.Spec.Tolerations, ends, false)
	return !untolerated
}
