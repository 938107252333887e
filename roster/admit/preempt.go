package admit

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// What a pod is told that has to go for a critical one (B-PRE-2): a Warning event
// with this reason and message, which its status has, too, with phase Failed and
// the condition DisruptionTarget, reason TerminationByKubelet.
const (
	PreemptedReason    = "Preempting"
	PreemptedMessage   = "Preempted in order to admit critical pod"
	PreemptedCondition = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// Victims are the pods that have to go so that the candidate gets what is
// missing (B-PRE-1): as little as can be of Guaranteed pods, then of Burstable,
// then of BestEffort ones, and within a class few and small pods. The error says
// what no set of pods can give.
func Victims(candidate *v1.Pod, others []*v1.Pod, missing []Failure) ([]*v1.Pod, error) {
	classes := preemptees(candidate, others)
	bestEffort, burstable, guaranteed := classes[v1.PodQOSBestEffort], classes[v1.PodQOSBurstable], classes[v1.PodQOSGuaranteed]
	need := missingAmounts(missing)
	if rest := need.less(bestEffort).less(burstable).less(guaranteed); len(rest) > 0 {
		return nil, fmt.Errorf("no set of running pods found to reclaim resources: %v", rest)
	}
	guaranteed = need.less(bestEffort).less(burstable).nearest(guaranteed)
	burstable = need.less(bestEffort).less(guaranteed).nearest(burstable)
	bestEffort = need.less(burstable).less(guaranteed).nearest(bestEffort)
	var victims []*v1.Pod
	for _, p := range needed(need, slices.Concat(guaranteed, burstable, bestEffort)) {
		victims = append(victims, p.pod)
	}
	return victims, nil
}

// preemptee is a pod that may have to go, with what that would give.
type preemptee struct {
	pod   *v1.Pod
	gives Amounts
}

func preemptees(candidate *v1.Pod, others []*v1.Pod) map[v1.PodQOSClass][]preemptee {
	classes := map[v1.PodQOSClass][]preemptee{}
	for _, pod := range others {
		if pod.UID != candidate.UID && preemptable(candidate, pod) {
			class := lifecycle.QOSClass(pod)
			classes[class] = append(classes[class], preemptee{pod: pod, gives: Held(pod)})
		}
	}
	return classes
}

// needed leaves out pods that need not end for enough to be free, trying the first
// ones first, because they cost the most.
func needed(need amountsMissing, pods []preemptee) []preemptee {
	for i := 0; i < len(pods); {
		rest := slices.Delete(slices.Clone(pods), i, i+1)
		if len(need.less(rest)) == 0 {
			pods = rest
			continue
		}
		i++
	}
	return pods
}

// amountMissing is always positive.
type amountMissing struct {
	resource v1.ResourceName
	amount   int64
}

type amountsMissing []amountMissing

func missingAmounts(failures []Failure) amountsMissing {
	var out amountsMissing
	for _, f := range failures {
		out = append(out, amountMissing{resource: f.Resource, amount: f.Missing()})
	}
	return out
}

// String is the form of Kubernetes.
func (a amountsMissing) String() string {
	var text strings.Builder
	for _, m := range a {
		fmt.Fprintf(&text, "(res: %v, q: %d), ", m.resource, m.amount)
	}
	return "[" + text.String() + "]"
}

// less returns what is still missing once the pods are gone.
func (a amountsMissing) less(pods []preemptee) amountsMissing {
	var out amountsMissing
	for _, m := range a {
		for _, p := range pods {
			m.amount -= p.gives[m.resource]
		}
		if m.amount > 0 {
			out = append(out, m)
		}
	}
	return out
}

// nearest takes one pod after the other, each time the one that leaves the least
// missing, and of two alike the smaller one, until nothing is missing. The pods
// together are enough.
func (a amountsMissing) nearest(pods []preemptee) []preemptee {
	var out []preemptee
	for pods = slices.Clone(pods); len(a) > 0 && len(pods) > 0; {
		best := 0
		for i := range pods {
			if nearer, here := a.distance(pods[i]), a.distance(pods[best]); nearer < here || nearer == here && smaller(pods[i], pods[best]) {
				best = i
			}
		}
		out = append(out, pods[best])
		a = a.less(pods[best : best+1])
		pods = slices.Delete(pods, best, best+1)
	}
	return out
}

// distance is how much would be missing without the pod: the squares of the
// fractions of each resource, so that all resources count alike.
func (a amountsMissing) distance(p preemptee) float64 {
	sum := 0.0
	for _, m := range a {
		if rest := float64(m.amount - p.gives[m.resource]); rest > 0 {
			fraction := rest / float64(m.amount)
			sum += fraction * fraction
		}
	}
	return sum
}

func smaller(a, b preemptee) bool {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU} {
		if a.gives[name] != b.gives[name] {
			return a.gives[name] < b.gives[name]
		}
	}
	return false
}
