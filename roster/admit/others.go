package admit

import (
	v1 "k8s.io/api/core/v1"
)

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
