package lifecycle

import v1 "k8s.io/api/core/v1"

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
