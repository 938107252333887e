package criconfig

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// field reads a fieldRef (A-ENV-8). IPs come from the input, not from the pod's
// status: the status of a pod that is being started is older than its sandbox.
func (b *builder) field(ref *v1.ObjectFieldSelector) (string, error) {
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		return "", fmt.Errorf("unsupported pod version: %s", ref.APIVersion)
	}
	switch ref.FieldPath {
	case "spec.nodeName", "spec.host":
		return b.Pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return b.Pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return first(b.HostIPs), nil
	case "status.hostIPs":
		return strings.Join(b.HostIPs, ","), nil
	case "status.podIP":
		return first(b.PodIPs), nil
	case "status.podIPs":
		return strings.Join(b.PodIPs, ","), nil
	}
	return metadataField(b.Pod, ref.FieldPath)
}

// metadataField reads a field of the pod's metadata. An absent label or
// annotation is an empty value, not an error.
func metadataField(pod *v1.Pod, path string) (string, error) {
	if key, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[key], nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[key], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", path)
}

// subscript reads the key of a path such as metadata.labels['key'].
func subscript(path, field string) (key string, ok bool) {
	key, hasPrefix := strings.CutPrefix(path, field+"['")
	key, hasSuffix := strings.CutSuffix(key, "']")
	return key, hasPrefix && hasSuffix
}

func first(ips []string) string {
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}
