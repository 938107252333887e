// Package source is where the pods that a node shall run come from: the API server, a folder of manifests
// and a URL (contract rules B-STA and B-RST-3). It tells a Feed; what becomes of a pod is decided elsewhere.
//
//	API      the pods bound to the node, by one list and watch (api.go)
//	File     static pods of a folder or file, with their ConfigMaps and Secrets (file.go, folder.go, watch.go)
//	HTTP     static pods of a URL (http.go)
//	Mirrors  what the API server shows of static pods (mirror.go)
//
// A source keeps what it has said last and nothing else: the Feed's pods are the source's own.
package source

import (
	"cmp"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// Annotations that a node gives to its pods; those of pods from the API never reach the API (B-STA-2).
const (
	// SourceAnnotation has the roster.Source.
	SourceAnnotation = "kubernetes.io/config.source"
	// SeenAnnotation has the time at which this process saw the pod's UID first.
	SeenAnnotation = "kubernetes.io/config.seen"
	// HashAnnotation has the hash of a static pod's manifest.
	HashAnnotation = roster.HashAnnotation
)

// Feed takes what sources say. A source calls it from one goroutine at a time; pods are not changed any
// more, by nobody.
type Feed interface {
	// Wanted says that the source wants the pod as it is now; it is said again at each change.
	Wanted(origin roster.Source, pod *v1.Pod)
	// Unwanted says that the source has a pod no longer, which it wanted before.
	Unwanted(origin roster.Source, uid types.UID)
	// Heard says that all that the source had at the start has been told (B-RST-3).
	Heard(origin roster.Source)
}

// IsStatic says whether a pod comes from elsewhere than the API server.
func IsStatic(pod *v1.Pod) bool { return lifecycle.Static(pod) }

// IsMirror says whether a pod of the API stands for a static pod.
func IsMirror(pod *v1.Pod) bool {
	_, found := pod.Annotations[v1.MirrorPodAnnotationKey]
	return found
}

// mark sets the annotations of a pod that nobody has seen yet; before is the same pod as it was, or nil.
func mark(pod, before *v1.Pod, origin roster.Source) {
	seen := time.Now().Format(time.RFC3339Nano)
	if before != nil && before.UID == pod.UID {
		seen = before.Annotations[SeenAnnotation]
	}
	annotations := maps.Clone(pod.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[SourceAnnotation], annotations[SeenAnnotation] = string(origin), seen
	pod.Annotations = annotations
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
