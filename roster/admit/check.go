package admit

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// Refusal is why a pod is not admitted: the reason and message of its status
// and event (A-ADM-2, A-ADM-4).
type Refusal struct {
	Reason  string
	Message string
}

// Host is what a node can do.
type Host struct {
	// Allocatable is what pods may ask for.
	Allocatable v1.ResourceList
	// SupplementalGroupsPolicy says that the runtime knows the policy Strict.
	SupplementalGroupsPolicy bool
	// AppArmor and SELinux say that the kernel enforces them.
	AppArmor bool
	SELinux  bool
	// Sysctls are those that a pod may set.
	Sysctls Sysctls
	// Claims says that drivers can prepare resource claims, which the API server has.
	Claims bool
}

type check func(*v1.Pod, Host) *Refusal

// Check is nil for a pod that the node takes, else the first refusal in the
// order of A-ADM-1.
func Check(pod *v1.Pod, host Host) *Refusal {
	return first(pod, host, CheckBeforeFit, checkFit, CheckAfterFit)
}

// CheckBeforeFit and CheckAfterFit are Check without what the node has room for:
// for a caller that counts other pods, too, and does so between the two.
func CheckBeforeFit(pod *v1.Pod, host Host) *Refusal {
	return first(pod, host, checkNames, checkSysctls, checkClaims, checkOS, checkGroupsPolicy)
}

// CheckAfterFit see CheckBeforeFit.
func CheckAfterFit(pod *v1.Pod, host Host) *Refusal {
	return first(pod, host, checkAppArmor)
}

func first(pod *v1.Pod, host Host, checks ...check) *Refusal {
	for _, check := range checks {
		if refusal := check(pod, host); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkSysctls(pod *v1.Pod, host Host) *Refusal {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	for i, sysctl := range pod.Spec.SecurityContext.Sysctls {
		err := host.Sysctls.check(sysctl.Name, &pod.Spec)
		if err == nil {
			if err = checkValue(sysctl.Value); err != nil {
				err = fmt.Errorf("%q: spec.securityContext.sysctls[%d].value: %w", sysctl.Name, i, err)
			}
		}
		if err != nil {
			return &Refusal{Reason: "SysctlForbidden", Message: fmt.Sprintf("forbidden sysctl: %v", err)}
		}
	}
	return nil
}

// checkClaims refuses a pod that wants devices through resource claims, its own or those
// that the scheduler made for its extended resources, where there are none: without an API
// server, and for static pods (A-DRA-1). Without its devices the pod would be another one.
func checkClaims(pod *v1.Pod, host Host) *Refusal {
	if !lifecycle.HasClaims(pod) || host.Claims && !lifecycle.Static(pod) {
		return nil
	}
	return &Refusal{
		Reason:  "PodFeatureUnsupported",
		Message: "Pod requires node features that are not available: DynamicResourceAllocation",
	}
}

// checkOS reads the label off the pod, as Kubernetes does, and the field.
func checkOS(pod *v1.Pod, _ Host) *Refusal {
	if label, found := pod.Labels[v1.LabelOSStable]; found && label != string(v1.Linux) {
		return &Refusal{
			Reason:  "PodOSSelectorNodeLabelDoesNotMatch",
			Message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
		}
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name != v1.Linux {
		return &Refusal{Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS"}
	}
	return nil
}

func checkGroupsPolicy(pod *v1.Pod, host Host) *Refusal {
	if pod.Spec.SecurityContext == nil || host.SupplementalGroupsPolicy {
		return nil
	}
	if ptr.Deref(pod.Spec.SecurityContext.SupplementalGroupsPolicy, "") != v1.SupplementalGroupsPolicyStrict {
		return nil
	}
	return &Refusal{Reason: "SupplementalGroupsPolicyNotSupported", Message: "SupplementalGroupsPolicy=Strict is not supported in this node"}
}

// preemptable says whether the candidate may take the other's place.
func preemptable(candidate, other *v1.Pod) bool {
	if lifecycle.Critical(candidate) && !lifecycle.Critical(other) {
		return true
	}
	mine, theirs := candidate.Spec.Priority, other.Spec.Priority
	return mine != nil && theirs != nil && *mine > *theirs
}

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

// longestFileName is what file systems of Linux take, in bytes.
const longestFileName = 255

// checkNames refuses a pod that can't have a folder for its logs: no sandbox could ever be made for it (A-ADM-9).
func checkNames(pod *v1.Pod, _ Host) *Refusal {
	excess := len(lifecycle.PodLogFolder(pod)) - longestFileName
	if excess <= 0 {
		return nil
	}
	have := len(pod.Namespace) + len(pod.Name)
	return &Refusal{Reason: "NameTooLong", Message: fmt.Sprintf(
		"namespace and name have %d characters together, %d is the max: the folder of the pod's logs is called <namespace>_<name>_<uid>, and no file name is longer than %d",
		have, have-excess, longestFileName)}
}
