package source

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
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
	all.reflect(ctx, fields.OneTermNotEqualSelector("spec.nodeName", "").String(), shared{s})
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
		_ = store.Replace(asObjects(s.early[a.NodeName]), "") // they are pods
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
		_ = store.Replace(asObjects(s.early[node]), "") // they are pods
	}
	delete(s.early, node)
}

// shared is a Shared as the reflector's store.
type shared struct{ *Shared }

// Add takes a pod as the API server has it.
func (s shared) Add(object any) error { return s.Update(object) }

// Update does the same.
func (s shared) Update(object any) error {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return notAPod(object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch store := s.nodes[pod.Spec.NodeName]; {
	case store != nil:
		store.put(pod)
	case s.Mine(pod.Spec.NodeName):
		s.keep(pod)
	}
	return nil
}

// keep keeps a pod of a node that has not come yet.
func (s shared) keep(pod *v1.Pod) {
	of := s.early[pod.Spec.NodeName]
	if of == nil {
		of = map[types.NamespacedName]*v1.Pod{}
		s.early[pod.Spec.NodeName] = of
	}
	of[nameOf(pod)] = pod
}

// Delete forgets a pod that the API server has no longer.
func (s shared) Delete(object any) error {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return notAPod(object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if store := s.nodes[pod.Spec.NodeName]; store != nil {
		store.remove(nameOf(pod))
	}
	delete(s.early[pod.Spec.NodeName], nameOf(pod))
	return nil
}

// Replace takes all pods.
func (s shared) Replace(objects []any, version string) error {
	by := map[string][]any{}
	for _, object := range objects {
		pod, ok := object.(*v1.Pod)
		if !ok {
			return notAPod(object)
		}
		by[pod.Spec.NodeName] = append(by[pod.Spec.NodeName], pod)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, store := range s.nodes {
		if err := store.Replace(by[name], version); err != nil {
			return err
		}
	}
	s.early = map[string]map[types.NamespacedName]*v1.Pod{}
	for name, pods := range by {
		if s.nodes[name] != nil || !s.Mine(name) {
			continue
		}
		for _, pod := range pods {
			s.keep(pod.(*v1.Pod))
		}
	}
	s.heard = true
	return nil
}

// Resync does nothing: nobody wants to hear of what hasn't changed.
func (s shared) Resync() error { return nil }

// Transformer trims pods while a list of them is gathered.
func (s shared) Transformer() cache.TransformFunc { return trim }

func asObjects(pods map[types.NamespacedName]*v1.Pod) (objects []any) {
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	return objects
}
