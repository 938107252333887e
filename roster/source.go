package roster

import v1 "k8s.io/api/core/v1"

// Source is where a pod comes from, as the annotation kubernetes.io/config.source
// names it (B-STA-2).
type Source string

// The sources of pods.
const (
	API  Source = "api"
	File Source = "file"
	URL  Source = "http"
	// Runtime marks a pod that only the runtime has and no source wants (B-WRK-21).
	Runtime Source = "runtime"
)

// HashAnnotation has the hash of a static pod's manifest.
const HashAnnotation = "kubernetes.io/config.hash"

// Hash returns the hash of a static pod's manifest. It is empty for a pod of the API,
// because anybody can write that pod's annotations.
func (s Source) Hash(pod *v1.Pod) string {
	if !s.Static() {
		return ""
	}
	return pod.Annotations[HashAnnotation]
}

// Static says that the source's pods are static: the API server shows mirror pods of them.
func (s Source) Static() bool { return s == File || s == URL }
