package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// sameStatus says whether two statuses are the same to the API: times count by the second,
// amounts whatever their form, and an empty list is none. It compares field by field,
// because it is asked after nearly every step (TestSameStatusHasAllFields).
func sameStatus(a, b *v1.PodStatus) bool {
	return samePodText(a, b) && sameApart(a, b) &&
		sameResources(a.Resources, b.Resources) && sameAmounts(a.AllocatedResources, b.AllocatedResources) &&
		a.ObservedGeneration == b.ObservedGeneration && sameTime(a.StartTime, b.StartTime) &&
		slices.Equal(a.PodIPs, b.PodIPs) && slices.Equal(a.HostIPs, b.HostIPs) &&
		sameConditions(a.Conditions, b.Conditions) &&
		sameContainers(a.InitContainerStatuses, b.InitContainerStatuses) &&
		sameContainers(a.ContainerStatuses, b.ContainerStatuses) &&
		sameContainers(a.EphemeralContainerStatuses, b.EphemeralContainerStatuses)
}

func samePodText(a, b *v1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message && a.QOSClass == b.QOSClass && a.PodIP == b.PodIP && a.HostIP == b.HostIP
}

// sameApart compares what others write, which a pod has until this node publishes for the
// first time.
func sameApart(a, b *v1.PodStatus) bool {
	return a.NominatedNodeName == b.NominatedNodeName && a.Resize == b.Resize &&
		equalOrNone(a.ResourceClaimStatuses, b.ResourceClaimStatuses) &&
		equalOrNone(a.NodeAllocatableResourceClaimStatuses, b.NodeAllocatableResourceClaimStatuses) && sameBehind(a.ExtendedResourceClaimStatus, b.ExtendedResourceClaimStatus) &&
		equalOrNone(a.VolumeHealth, b.VolumeHealth)
}

// equalOrNone and sameBehind compare what is seldom there, or seldom changes.
func equalOrNone[T any](a, b []T) bool {
	return len(a) == 0 && len(b) == 0 || equality.Semantic.DeepEqual(a, b)
}

func sameBehind[T any](a, b *T) bool { return a == b || equality.Semantic.DeepEqual(a, b) }

// sameMemory says whether two lists are one.
func sameMemory[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func sameConditions(a, b []v1.PodCondition) bool {
	if sameMemory(a, b) || len(a) != len(b) {
		return len(a) == len(b)
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Type != y.Type || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message || x.ObservedGeneration != y.ObservedGeneration ||
			!sameSecond(x.LastTransitionTime, y.LastTransitionTime) || !sameSecond(x.LastProbeTime, y.LastProbeTime) {
			return false
		}
	}
	return true
}

func sameContainers(a, b []v1.ContainerStatus) bool {
	if sameMemory(a, b) || len(a) != len(b) {
		return len(a) == len(b)
	}
	for i := range a {
		if !sameContainer(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameContainer(a, b *v1.ContainerStatus) bool {
	return a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount &&
		a.Image == b.Image && a.ImageID == b.ImageID && a.ContainerID == b.ContainerID &&
		sameState(&a.State, &b.State) && sameState(&a.LastTerminationState, &b.LastTerminationState) &&
		ptr.Equal(a.Started, b.Started) && ptr.Equal(a.StopSignal, b.StopSignal) &&
		sameOfInstance(a, b)
}

// sameOfInstance compares what stays the same while an instance runs.
func sameOfInstance(a, b *v1.ContainerStatus) bool {
	return sameAmounts(a.AllocatedResources, b.AllocatedResources) && sameResources(a.Resources, b.Resources) &&
		slices.EqualFunc(a.VolumeMounts, b.VolumeMounts, sameMount) &&
		sameBehind(a.User, b.User) &&
		equalOrNone(a.AllocatedResourcesStatus, b.AllocatedResourcesStatus)
}

func sameMount(a, b v1.VolumeMountStatus) bool {
	return a.Name == b.Name && a.MountPath == b.MountPath && a.ReadOnly == b.ReadOnly && ptr.Equal(a.RecursiveReadOnly, b.RecursiveReadOnly) &&
		sameBehind(a.VolumeStatus, b.VolumeStatus)
}

func sameState(a, b *v1.ContainerState) bool {
	if (a.Running == nil) != (b.Running == nil) || a.Running != nil && !sameSecond(a.Running.StartedAt, b.Running.StartedAt) {
		return false
	}
	return ptr.Equal(a.Waiting, b.Waiting) && sameEnd(a.Terminated, b.Terminated)
}

func sameEnd(a, b *v1.ContainerStateTerminated) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.ExitCode == b.ExitCode && a.Signal == b.Signal && a.Reason == b.Reason && a.Message == b.Message && a.ContainerID == b.ContainerID &&
		sameSecond(a.StartedAt, b.StartedAt) && sameSecond(a.FinishedAt, b.FinishedAt)
}

func sameResources(a, b *v1.ResourceRequirements) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return sameRequirements(a, b)
}

func sameRequirements(a, b *v1.ResourceRequirements) bool {
	return sameAmounts(a.Limits, b.Limits) && sameAmounts(a.Requests, b.Requests) && slices.Equal(a.Claims, b.Claims)
}

func sameAmounts(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, amount := range a {
		if other, has := b[name]; !has || amount.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func sameTime(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameSecond(*a, *b)
}

func sameSecond(a, b metav1.Time) bool { return a.Unix() == b.Unix() }
