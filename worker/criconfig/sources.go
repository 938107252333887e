package criconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// addEnvFrom adds every key of the ConfigMaps and Secrets of `envFrom`; a later
// source wins over an earlier one (A-ENV-2). Keys are not filtered (A-ENV-3).
func (b *builder) addEnvFrom() error {
	for _, from := range b.Container.EnvFrom {
		data, err := b.envFromData(from)
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			b.vars.set(from.Prefix+key, data[key], envFromOrigin(from, key))
		}
	}
	return nil
}

func (b *builder) envFromData(from v1.EnvFromSource) (data map[string]string, err error) {
	switch {
	case from.ConfigMapRef != nil:
		data, _, err = b.data("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		data, _, err = b.data("Secret", from.SecretRef.Name, from.SecretRef.Optional)
	}
	return data, err
}

// data is what a ConfigMap or Secret has for variables; found is false if it is optional and absent.
func (b *builder) data(kind, name string, optional *bool) (data map[string]string, found bool, err error) {
	if kind == "ConfigMap" {
		object, err := b.Objects.ConfigMap(b.Pod.Namespace, name)
		if object == nil || err != nil {
			return nil, false, unlessOptional(err, optional)
		}
		return object.Data, true, nil
	}
	object, err := b.Objects.Secret(b.Pod.Namespace, name)
	if object == nil || err != nil {
		return nil, false, unlessOptional(err, optional)
	}
	data = make(map[string]string, len(object.Data))
	for key, value := range object.Data {
		data[key] = string(value)
	}
	return data, true, nil
}

// resolve reads the source of one variable. Its result is never expanded
// (A-ENV-4); found is false if the source is optional and absent.
func (b *builder) resolve(from *v1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = b.field(from.FieldRef)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err = b.resource(from.ResourceFieldRef)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		return b.key(originOf(from), from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		return b.key(originOf(from), from.SecretKeyRef.Optional)
	case from.FileKeyRef != nil:
		return b.fileKey(from.FileKeyRef)
	}
	return "", true, nil
}

// key reads a key of a ConfigMap or Secret.
func (b *builder) key(of origin, optional *bool) (value string, found bool, err error) {
	data, there, err := b.data(of.kind, of.name, optional)
	if !there {
		return "", false, err
	}
	value, found = data[of.key]
	if !found && !ptr.Deref(optional, false) {
		return "", false, fmt.Errorf("couldn't find key %v in %s %v/%v", of.key, of.kind, b.Pod.Namespace, of.name)
	}
	return value, found, nil
}

// unlessOptional drops the error of a missing object that is optional. It is
// returned unwrapped: the user sees the API's own text, as with Kubernetes.
func unlessOptional(err error, optional *bool) error {
	if ptr.Deref(optional, false) && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// DownwardFile is the content of one file of a downwardAPI volume (A-ENV-8,
// A-VOL-5): a field of the pod's metadata, all labels or annotations, or a
// resource of a container, with allocatable in place of a limit that nobody set.
func DownwardFile(pod *v1.Pod, file *v1.DownwardAPIVolumeFile, allocatable v1.ResourceList) (string, error) {
	switch {
	case file.FieldRef != nil && file.FieldRef.FieldPath == "metadata.labels":
		return formatMap(pod.Labels), nil
	case file.FieldRef != nil && file.FieldRef.FieldPath == "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case file.FieldRef != nil:
		return metadataField(pod, file.FieldRef.FieldPath)
	case file.ResourceFieldRef != nil:
		b := builder{EnvironmentInput: EnvironmentInput{Pod: pod, Container: &v1.Container{}, Allocatable: allocatable}}
		return b.resource(file.ResourceFieldRef)
	}
	return "", errors.New("neither fieldRef nor resourceFieldRef is set")
}

// formatMap has a line key="value" for each entry, sorted and with the value
// escaped, without a newline at the end.
func formatMap(m map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, m[key]))
	}
	return strings.Join(lines, "\n")
}

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
