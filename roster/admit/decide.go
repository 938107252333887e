package admit

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	features "k8s.io/component-helpers/nodedeclaredfeatures"
	featuretypes "k8s.io/component-helpers/nodedeclaredfeatures/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Answer is the decision on a new pod or a resize. The zero value admits it.
type Answer struct {
	// Refusal is why it is rejected; nil if it is not.
	Refusal *Refusal
	// Victims must end first. Nothing is rejected then: ask again once they hold
	// nothing any more.
	Victims []*v1.Pod
	// Missing is the first resource of which there is too little, for which they must.
	Missing v1.ResourceName
	// Relabel says that only the node's labels refuse the pod. They may have
	// changed: read the Node from the API server and ask once more (A-ADM-4).
	Relabel bool
}

// Decide answers for a pod that is new to the agent, neither ended nor ending
// (A-ADM-1). Of the Node it uses name, labels, taints, allocatable, declared
// features; nil is a node that is not known. Nobody is preempted for a pod that
// is rejected all the same.
func Decide(candidate *v1.Pod, others Others, node *v1.Node, host Host) Answer {
	if refusal := CheckBeforeFit(candidate, host); refusal != nil {
		return rejected(refusal.Reason, refusal.Message)
	}
	if node == nil {
		return rejected("InvalidNodeInfo", "Kubelet cannot get node info.")
	}
	fit := decideFit(candidate, others, node)
	if fit.Refusal != nil {
		return fit
	}
	if refusal := CheckAfterFit(candidate, host); refusal != nil && isNew(candidate) {
		return rejected(refusal.Reason, refusal.Message)
	}
	if message := undeclared(candidate, node); message != "" {
		return rejected("PodFeatureUnsupported", message)
	}
	return fit
}

// decideFit preempts for a critical pod if resources are all that is missing; if
// more is, no resource is given for the reason (A-ADM-5, B-PRE-1).
func decideFit(candidate *v1.Pod, others Others, node *v1.Node) Answer {
	failures := Failures(candidate, others, node)
	if len(failures) == 0 {
		return Answer{}
	}
	relabel := len(failures) == 1 && failures[0] == noAffinity
	if lifecycle.Critical(candidate) {
		if !slices.ContainsFunc(failures, func(f Failure) bool { return f.Resource == "" }) {
			return preempt(candidate, others, failures)
		}
		failures = slices.DeleteFunc(failures, func(f Failure) bool { return f.Resource != "" })
	}
	return Answer{Refusal: failures[0].Refusal(), Relabel: relabel}
}

func preempt(candidate *v1.Pod, others Others, failures []Failure) Answer {
	victims, err := Victims(candidate, others.Pods(), failures)
	if err != nil {
		return rejected("UnexpectedAdmissionError",
			fmt.Sprintf("Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: %v", err))
	}
	return Answer{Victims: victims, Missing: failures[0].Resource}
}

func rejected(reason, message string) Answer {
	return Answer{Refusal: &Refusal{Reason: reason, Message: message}}
}

// target is the version whose features a pod may ask a node for.
var target = version.MustParseSemantic("1.37.2")

// undeclared says which features the pod needs that the Node does not declare.
func undeclared(candidate *v1.Pod, node *v1.Node) string {
	needed, err := features.DefaultFramework.InferForPodScheduling(&featuretypes.PodInfo{Spec: &candidate.Spec, Status: &candidate.Status}, target)
	if err != nil {
		return fmt.Sprintf("Failed to infer pod's feature requirements: %v", err)
	}
	return unavailable(needed, node)
}

// UndeclaredForUpdate says which features an update of a pod needs that the Node does not
// declare (A-EVT-6); empty if there is none, or before or the Node is not known. Features
// compare init containers in pairs: the API never changes their number, the manifest of a
// static pod may.
func UndeclaredForUpdate(before, after *v1.Pod, node *v1.Node) string {
	if before == nil || node == nil || len(before.Spec.InitContainers) != len(after.Spec.InitContainers) {
		return ""
	}
	needed, err := features.DefaultFramework.InferForPodUpdate(
		&featuretypes.PodInfo{Spec: &before.Spec, Status: &before.Status}, &featuretypes.PodInfo{Spec: &after.Spec, Status: &after.Status}, target)
	if err != nil {
		return fmt.Sprintf("Failed to infer pod's feature requirements: %v", err)
	}
	return unavailable(needed, node)
}

func unavailable(needed features.FeatureSet, node *v1.Node) string {
	match, err := features.DefaultFramework.MatchNode(needed, node)
	if err != nil {
		return fmt.Sprintf("Failed to match pod's feature requirements against the node: %v", err)
	}
	if match.IsMatch {
		return ""
	}
	return "Pod requires node features that are not available: " + strings.Join(match.UnsatisfiedRequirements, ", ")
}

// isNew is false for a pod that ran before the agent began: its confinement is not
// checked again (A-ADM-4).
func isNew(pod *v1.Pod) bool { return pod.Status.Phase == "" || pod.Status.Phase == v1.PodPending }
