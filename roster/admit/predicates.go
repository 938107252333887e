package admit

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
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

// tolerates looks at taints that end pods only: the others are the scheduler's.
func tolerates(candidate *v1.Pod, node *v1.Node) bool {
	ends := func(taint *v1.Taint) bool { return taint.Effect == v1.TaintEffectNoExecute }
	_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, candidate.Spec.Tolerations, ends, false)
	return !untolerated
}

// Amounts are of resources: of CPU in thousandths, and else in bytes or pieces.
type Amounts map[v1.ResourceName]int64

// Add adds others to them.
func (a Amounts) Add(others Amounts) { a.add(others, 1) }

// Sub takes others from them.
func (a Amounts) Sub(others Amounts) { a.add(others, -1) }

// add keeps no amount that is 0, so that equal amounts are equal.
func (a Amounts) add(others Amounts, times int64) {
	for name, amount := range others {
		if a[name] += times * amount; a[name] == 0 {
			delete(a, name)
		}
	}
}

// Others are the pods that hold something of the node, without the one that is decided on.
type Others struct {
	// Held is what all of them hold together.
	Held Amounts
	// Pods are they, each with what it was allocated. It is called if it matters who they are.
	Pods func() []*v1.Pod
}

// Beside are pods without the candidate, which may be one of them.
func Beside(candidate *v1.Pod, pods []*v1.Pod) Others {
	var others []*v1.Pod
	held := Amounts{}
	for _, pod := range pods {
		if pod.UID != candidate.UID {
			others = append(others, pod)
			held.Add(Held(pod))
		}
	}
	return Others{held, func() []*v1.Pod { return others }}
}

// checkFit compares what the pod requests, overhead included, with what the
// node has. Other pods are not counted: nothing is set aside for them. A resource
// of devices that the node does not know is left out (A-ADM-5).
func checkFit(pod *v1.Pod, host Host) *Refusal {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	for _, name := range append(names, hugePages(requests)...) {
		request, capacity := requests[name], host.Allocatable[name]
		if _, known := host.Allocatable[name]; !known && name == v1.ResourceEphemeralStorage {
			continue
		}
		if request.Cmp(capacity) > 0 {
			return Failure{Resource: name, Requested: amount(name, requests), Capacity: amount(name, host.Allocatable)}.Refusal()
		}
	}
	return nil
}

func hugePages(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name := range list {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// amount is in thousandths of a CPU, and else in bytes.
func amount(name v1.ResourceName, list v1.ResourceList) int64 {
	quantity := list[name]
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}
