package criconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

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
