package admit

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// checkAppArmor refuses what the kernel would not enforce.
func checkAppArmor(pod *v1.Pod, host Host) *Refusal {
	if host.AppArmor || !asksForAppArmor(pod) {
		return nil
	}
	return &Refusal{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
}

// asksForAppArmor also holds for a pod's profile that each of its containers
// overrides, as in Kubernetes.
func asksForAppArmor(pod *v1.Pod) bool {
	confines := func(p *v1.AppArmorProfile) bool { return p != nil && p.Type != v1.AppArmorProfileTypeUnconfined }
	if sc := pod.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	return slices.ContainsFunc(lifecycle.AllContainers(pod), func(c v1.Container) bool { return confines(lifecycle.AppArmorProfile(pod, &c)) })
}

// Unenforced tells of what a pod asks for that has no effect on this node, and
// that Kubernetes runs all the same.
func Unenforced(pod *v1.Pod, host Host) []string {
	if host.SELinux || !asksForSELinux(pod) {
		return nil
	}
	return []string{"seLinuxOptions have no effect: SELinux is not enabled on this machine"}
}

func asksForSELinux(pod *v1.Pod) bool {
	if sc := pod.Spec.SecurityContext; sc != nil && sc.SELinuxOptions != nil {
		return true
	}
	return slices.ContainsFunc(lifecycle.AllContainers(pod), func(c v1.Container) bool {
		return c.SecurityContext != nil && c.SecurityContext.SELinuxOptions != nil
	})
}
