package criconfig

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
)

// Labels of sandboxes and containers (A-CRI-2).
const (
	PodNameLabel       = "io.kubernetes.pod.name"
	PodNamespaceLabel  = "io.kubernetes.pod.namespace"
	PodUIDLabel        = "io.kubernetes.pod.uid"
	ContainerNameLabel = "io.kubernetes.container.name"
)

// Annotations of containers (A-CRI-2).
const (
	hashAnnotation                     = "io.kubernetes.container.hash"
	restartCountAnnotation             = "io.kubernetes.container.restartCount"
	terminationMessagePathAnnotation   = "io.kubernetes.container.terminationMessagePath"
	terminationMessagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy"
	preStopHandlerAnnotation           = "io.kubernetes.container.preStopHandler"
	portsAnnotation                    = "io.kubernetes.container.ports"
	deletionGracePeriodAnnotation      = "io.kubernetes.pod.deletionGracePeriod"
	terminationGracePeriodAnnotation   = "io.kubernetes.pod.terminationGracePeriod"
)

func identityLabels(pod *v1.Pod) map[string]string {
	return map[string]string{
		PodNameLabel:      pod.Name,
		PodNamespaceLabel: pod.Namespace,
		PodUIDLabel:       string(pod.UID),
	}
}

func sandboxLabels(pod *v1.Pod) map[string]string {
	labels := maps.Clone(pod.Labels)
	if labels == nil {
		return identityLabels(pod)
	}
	maps.Copy(labels, identityLabels(pod))
	return labels
}

func containerLabels(pod *v1.Pod, container *v1.Container) map[string]string {
	labels := identityLabels(pod)
	labels[ContainerNameLabel] = container.Name
	return labels
}

// containerAnnotations are enough to stop a container of which no spec is left. What devices
// bring with them can't change that (A-DEV-1).
func containerAnnotations(in ContainerInput) map[string]string {
	pod, container, out := in.Pod, in.Container, map[string]string{}
	maps.Copy(out, in.Assigned.Annotations)
	out[hashAnnotation] = strconv.FormatUint(Hash(container), 16)
	out[restartCountAnnotation] = strconv.Itoa(in.RestartCount)
	out[terminationMessagePathAnnotation] = container.TerminationMessagePath
	out[terminationMessagePolicyAnnotation] = string(container.TerminationMessagePolicy)
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		out[deletionGracePeriodAnnotation] = strconv.FormatInt(*s, 10)
	}
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		out[terminationGracePeriodAnnotation] = strconv.FormatInt(*s, 10)
	}
	if container.Lifecycle != nil && container.Lifecycle.PreStop != nil {
		out[preStopHandlerAnnotation] = string(asJSON(container.Lifecycle.PreStop))
	}
	if len(container.Ports) > 0 {
		out[portsAnnotation] = string(asJSON(container.Ports))
	}
	return out
}

// asJSON is for what always marshals: fields of the API, maps of strings.
func asJSON(value any) []byte {
	text, _ := json.Marshal(value)
	return text
}

// Hash tells whether a container's definition changed, by name and image
// (A-CRI-2). It is Kubernetes' own value, so that containers can be taken over
// from another agent.
func Hash(container *v1.Container) uint64 {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%v", dump.ForHash(asJSON(map[string]string{"name": container.Name, "image": container.Image})))
	return uint64(hash.Sum32())
}
