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
	// Runtime is that of a pod that only the runtime knows: no source wants it (B-WRK-21).
	Runtime Source = "runtime"
)

// HashAnnotation has the hash of a static pod's manifest.
const HashAnnotation = "kubernetes.io/config.hash"

// Hash is that of a static pod's manifest; empty for a pod of the API, whose annotations
// anybody can write.
func (s Source) Hash(pod *v1.Pod) string {
	if !s.Static() {
		return ""
	}
	return pod.Annotations[HashAnnotation]
}

// Static says that the source's pods are static: the API server shows mirror pods of them.
func (s Source) Static() bool { return s == File || s == URL }
