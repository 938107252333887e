package lifecycle

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
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

// Containers are the init containers of a pod, then the regular ones, as they are in it.
func Containers(pod *v1.Pod) []*v1.Container {
	list := make([]*v1.Container, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for _, of := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range of {
			list = append(list, &of[i])
		}
	}
	return list
}

// ContainerStatuses are those of a pod's init containers, then of the regular and the ephemeral ones, as they are in its status.
func ContainerStatuses(status *v1.PodStatus) []*v1.ContainerStatus {
	var list []*v1.ContainerStatus
	for _, of := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range of {
			list = append(list, &of[i])
		}
	}
	return list
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

// Object returns the pod of a checkpoint as an API server would have it: the accepted pod
// with its later changes, the status as last published, and its deletion. The caller owns
// it.
func (c Checkpoint) Object(accepted *v1.Pod) *v1.Pod {
	pod := accepted.DeepCopy()
	if c.Spec != nil {
		pod.Spec, pod.Generation = *c.Spec.DeepCopy(), c.Generation
	}
	if desired := c.withPodResources(pod.Spec.Resources).Resize.Desired; desired != nil && desired.fits(pod) { // else it is of another pod
		pod = desired.On(pod)
	}
	pod.Status = *c.Reported.DeepCopy()
	if c.Deleted {
		ends := metav1.NewTime(c.Stop.Deadline.Add(c.Drift).Truncate(time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ends, new(int64)
	}
	return pod
}

// Object is the pod as an API server would have it (Checkpoint.Object).
func (m *Machine) Object() *v1.Pod { return m.Checkpoint().Object(m.pod) }

// Grace is how long the pod may take to end: as long as the request says, else as long as
// its spec says (B-WRK-9, B-WRK-11).
func (r StopRequested) Grace(pod *v1.Pod) time.Duration {
	switch {
	case r.Force:
		return 0
	case r.GraceSeconds != nil:
		return GraceDuration(*r.GraceSeconds)
	}
	return specGrace(pod)
}

// specGrace is spec.terminationGracePeriodSeconds (B-WRK-11).
func specGrace(pod *v1.Pod) time.Duration {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return GraceDuration(*g)
	}
	return GraceDuration(v1.DefaultTerminationGracePeriodSeconds)
}

// QOSClass is the pod's class (A-API-3): what its status says, which never
// changes once set, else what its spec amounts to.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return classOf(pod.Spec.Resources)
	}
	var class v1.PodQOSClass
	for _, c := range Containers(pod) { // ephemeral ones have no resources
		own := classOf(&c.Resources)
		if class != "" && own != class {
			return v1.PodQOSBurstable
		}
		class = own
	}
	return class
}

func classOf(r *v1.ResourceRequirements) v1.PodQOSClass {
	asked := 0
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		if request.Cmp(limit) != 0 {
			return v1.PodQOSBurstable
		}
		if !request.IsZero() {
			asked++
		}
	}
	return [...]v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed}[asked]
}

// MaySwap reports a container that has a part of the swap by its memory, where containers have one
// (A-CRI-11).
func MaySwap(pod *v1.Pod, container *v1.Container) bool {
	request, limit := container.Resources.Requests.Memory(), container.Resources.Limits.Memory()
	return QOSClass(pod) == v1.PodQOSBurstable && !Critical(pod) && request.Cmp(*limit) != 0
}

// LowestCriticalPriority is the priority of the class system-cluster-critical.
const LowestCriticalPriority = 2_000_000_000

// sourceAnnotation says where the node got a pod from.
const sourceAnnotation = "kubernetes.io/config.source"

// Critical says whether the node depends on the pod: it is static, the mirror of such a one, or its priority says
// so. It is never evicted, and other pods make room for it (B-STA-8, B-LST-1, B-PRE-1).
func Critical(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror || Static(pod) || pod.Spec.Priority != nil && *pod.Spec.Priority >= LowestCriticalPriority
}

// Static says that a pod comes from a file or a URL of the node's configuration, not
// from the API server (B-STA-2).
func Static(pod *v1.Pod) bool {
	source, known := pod.Annotations[sourceAnnotation]
	return known && source != "api"
}
