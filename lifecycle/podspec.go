package lifecycle

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// AllContainers are all containers of a pod, of whatever kind.
func AllContainers(pod *v1.Pod) []v1.Container {
	var out []v1.Container
	out = append(out, pod.Spec.InitContainers...)
	out = append(out, pod.Spec.Containers...)
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return out
}

// PodLogFolder is the name of the folder of a pod's logs (A-CRI-1).
func PodLogFolder(pod *v1.Pod) string {
	return pod.Namespace + "_" + pod.Name + "_" + string(pod.UID)
}

// AppArmorProfile is the profile that a container is to run under, nil if none
// is asked for (A-SEC-4).
func AppArmorProfile(pod *v1.Pod, container *v1.Container) *v1.AppArmorProfile {
	if sc := container.SecurityContext; sc != nil && sc.AppArmorProfile != nil {
		return sc.AppArmorProfile
	}
	annotation := pod.Annotations[v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+container.Name]
	name, localhost := strings.CutPrefix(annotation, v1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case localhost:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	case annotation == v1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	case annotation == v1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
	}
	if sc := pod.Spec.SecurityContext; sc != nil {
		return sc.AppArmorProfile
	}
	return nil
}
