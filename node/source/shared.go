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
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// Shared is the source of the pods of many nodes that run in one process, by one list and watch
// for all of them. Its nodes may come while it runs.
type Shared struct {
	Client kubernetes.Interface
	// Mine says whether a node may come; the pods of others are not kept.
	Mine func(node string) bool
	Log  *slog.Logger

	mu    sync.Mutex
	nodes map[string]*podStore                        // those that have come
	away  map[string]*podStore                        // those that are cut off: what they were told
	early map[string]map[types.NamespacedName]*v1.Pod // pods of nodes that have not come, or are cut off
	heard bool                                        // all pods were reported once
}

// Run tells the nodes' feeds until ctx ends.
func (s *Shared) Run(ctx context.Context) {
	all := &API{Client: s.Client, Log: s.Log}
	all.reflect(ctx, fields.OneTermNotEqualSelector("spec.nodeName", "").String(), s.store())
}

// Add tells a node's feed of its pods from now on, as API.Run does. Client of it is not used.
func (s *Shared) Add(a *API) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]*podStore{}
	}
	store := newPodStore(a)
	s.nodes[a.NodeName] = store
	if s.heard {
		store.replace(slices.Collect(maps.Values(s.early[a.NodeName])))
	}
	delete(s.early, a.NodeName)
}

// Remove ends what Add began. The node may come again.
func (s *Shared) Remove(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if store := s.nodes[node]; store != nil {
		pods := make(map[types.NamespacedName]*v1.Pod, len(store.pods))
		for name, pod := range store.pods {
			kept := *pod // the next Add gives it other annotations, and somebody may still read it
			pods[name] = &kept
		}
		s.setAside(node, pods)
	}
	delete(s.nodes, node)
	delete(s.away, node)
}

// setAside keeps the pods of a node that is told nothing. Called with mu held.
func (s *Shared) setAside(node string, pods map[types.NamespacedName]*v1.Pod) {
	if !s.Mine(node) {
		return
	}
	if s.early == nil {
		s.early = map[string]map[types.NamespacedName]*v1.Pod{}
	}
	s.early[node] = pods
}

// Cut tells the feed of a node nothing more until Join, as if the API server were away.
func (s *Shared) Cut(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	store := s.nodes[node]
	if store == nil {
		return
	}
	if s.away == nil {
		s.away = map[string]*podStore{}
	}
	s.away[node] = store
	delete(s.nodes, node)
	s.setAside(node, maps.Clone(store.pods))
}

// Join tells the feed of a node what is other than at Cut, as the first list after an outage does.
func (s *Shared) Join(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	store := s.away[node]
	if store == nil {
		return
	}
	delete(s.away, node)
	s.nodes[node] = store
	if s.heard {
		store.replace(slices.Collect(maps.Values(s.early[node])))
	}
	delete(s.early, node)
}

func (s *Shared) store() apiwatch.Store[*v1.Pod] {
	return apiwatch.Store[*v1.Pod]{All: s.replace, Put: s.put, Gone: s.drop}
}

// put takes a pod as the API server has it.
func (s *Shared) put(pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch store := s.nodes[pod.Spec.NodeName]; {
	case store != nil:
		store.put(pod)
	case s.Mine(pod.Spec.NodeName):
		s.keep(pod)
	}
}

// keep keeps a pod of a node that has not come yet.
func (s *Shared) keep(pod *v1.Pod) {
	of := s.early[pod.Spec.NodeName]
	if of == nil {
		of = map[types.NamespacedName]*v1.Pod{}
		s.early[pod.Spec.NodeName] = of
	}
	of[nameOf(pod)] = pod
}

// drop forgets a pod that the API server has no longer.
func (s *Shared) drop(pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if store := s.nodes[pod.Spec.NodeName]; store != nil {
		store.remove(nameOf(pod))
	}
	delete(s.early[pod.Spec.NodeName], nameOf(pod))
}

// replace takes all pods.
func (s *Shared) replace(pods []*v1.Pod, _ string) {
	by := map[string][]*v1.Pod{}
	for _, pod := range pods {
		by[pod.Spec.NodeName] = append(by[pod.Spec.NodeName], pod)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, store := range s.nodes {
		store.replace(by[name])
	}
	s.early = map[string]map[types.NamespacedName]*v1.Pod{}
	for name, pods := range by {
		if s.nodes[name] != nil || !s.Mine(name) {
			continue
		}
		for _, pod := range pods {
			s.keep(pod)
		}
	}
	s.heard = true
}

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
