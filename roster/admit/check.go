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
