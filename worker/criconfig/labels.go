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
func containerAnnotations(in ContainerInput) (map[string]string, error) {
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
		if err := addJSON(out, preStopHandlerAnnotation, container.Lifecycle.PreStop); err != nil {
			return nil, err
		}
	}
	if len(container.Ports) > 0 {
		if err := addJSON(out, portsAnnotation, container.Ports); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func addJSON(annotations map[string]string, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write annotation %s: %w", key, err)
	}
	annotations[key] = string(text)
	return nil
}

// Hash tells whether a container's definition changed, by name and image
// (A-CRI-2). It is Kubernetes' own value, so that containers can be taken over
// from another agent.
func Hash(container *v1.Container) uint64 {
	// A map of strings always marshals.
	text, _ := json.Marshal(map[string]string{"name": container.Name, "image": container.Image})
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%v", dump.ForHash(text))
	return uint64(hash.Sum32())
}
