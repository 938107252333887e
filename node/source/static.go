package source

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// staticPods are the pods that a source of static pods has said it wants.
type staticPods struct {
	origin roster.Source
	feed   Feed
	wanted map[types.NamespacedName]*v1.Pod
}

func newStaticPods(origin roster.Source, feed Feed) *staticPods {
	return &staticPods{origin: origin, feed: feed, wanted: map[types.NamespacedName]*v1.Pod{}}
}

// become tells the difference to pods, of which no two share a name: what goes first, then what comes. A
// pod that hasn't changed stays the object that it was.
func (s *staticPods) become(pods []*v1.Pod) {
	uids := map[types.NamespacedName]types.UID{}
	for _, pod := range pods {
		uids[nameOf(pod)] = pod.UID
	}
	before := s.wanted
	s.wanted = make(map[types.NamespacedName]*v1.Pod, len(pods))
	for _, name := range slices.SortedFunc(maps.Keys(before), compareNames) {
		if uid := before[name].UID; uids[name] != uid {
			s.feed.Unwanted(s.origin, uid)
		}
	}
	for _, pod := range pods {
		name := nameOf(pod)
		was := before[name]
		if was == pod {
			s.wanted[name] = was
			continue
		}
		marked := *pod // what was told before may be in use
		pod = &marked
		mark(pod, was, s.origin)
		if was != nil && was.UID == pod.UID && equality.Semantic.DeepEqual(was, pod) {
			s.wanted[name] = was
			continue
		}
		s.wanted[name] = pod
		s.feed.Wanted(s.origin, pod)
	}
}

// unique tells whether a pod may stand beside those before it, which it joins then.
type unique struct {
	names map[types.NamespacedName]string // and where they come from
	uids  map[types.UID]string
}

// nameTaken is the error of a pod whose name another one has.
type nameTaken struct {
	name  types.NamespacedName
	place string // of the other one
}

func (e nameTaken) Error() string {
	return fmt.Sprintf("pod %s is in %s already; a name is for one pod of the node", e.name, e.place)
}

// Record records an event about a pod that a source ignores.
type Record func(pod *v1.Pod, at time.Time, event lifecycle.RecordEvent)

// duplicates are the pods that a source ignores because another one has their name.
type duplicates struct {
	origin   roster.Source
	record   Record // nil: nobody wants to know
	reported []types.UID
}

// become records an event about each one that was none before (A-EVT-6).
func (d *duplicates) become(pods []*v1.Pod) {
	before := d.reported
	d.reported = nil
	for _, pod := range pods {
		d.reported = append(d.reported, pod.UID)
		if d.record == nil || slices.Contains(before, pod.UID) {
			continue
		}
		d.record(pod, time.Now(), lifecycle.RecordEvent{
			Type: v1.EventTypeWarning, Reason: "FailedValidation",
			Message: fmt.Sprintf("Error validating pod %s_%s(%s) from %s due to duplicate pod name %q, ignoring", pod.Name, pod.Namespace, pod.UID, d.origin, pod.Name),
		})
	}
}

func newUnique() unique {
	return unique{names: map[types.NamespacedName]string{}, uids: map[types.UID]string{}}
}

func (u unique) join(pod *v1.Pod, place string) error {
	name := nameOf(pod)
	if other, found := u.names[name]; found {
		return nameTaken{name, other}
	}
	if other, found := u.uids[pod.UID]; found {
		return fmt.Errorf("pod %s has the UID %s of a pod in %s; leave metadata.uid out", name, pod.UID, other)
	}
	u.names[name], u.uids[pod.UID] = place, place
	return nil
}

// objects are the ConfigMaps and Secrets beside static pods; a set of them is not changed any more.
type objects struct {
	configMaps map[types.NamespacedName]*v1.ConfigMap
	secrets    map[types.NamespacedName]*v1.Secret
}

func newObjects() *objects {
	return &objects{configMaps: map[types.NamespacedName]*v1.ConfigMap{}, secrets: map[types.NamespacedName]*v1.Secret{}}
}

// Objects are the ConfigMaps and Secrets of the files of static pods, as a File has read them last; none before.
type Objects struct{ current atomic.Pointer[objects] }

// ConfigMap is the ConfigMap of that name that stands beside the static pods, or a NotFound error.
func (f *Objects) ConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	if o := f.current.Load(); o != nil {
		if c, found := o.configMaps[types.NamespacedName{Namespace: namespace, Name: name}]; found {
			return c, nil
		}
	}
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

// Secret is the Secret of that name that stands beside the static pods, or a NotFound error.
func (f *Objects) Secret(namespace, name string) (*v1.Secret, error) {
	if o := f.current.Load(); o != nil {
		if s, found := o.secrets[types.NamespacedName{Namespace: namespace, Name: name}]; found {
			return s, nil
		}
	}
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}

// changedObject names an object whose content is another, or that came or went.
type changedObject struct {
	kind string
	types.NamespacedName
}

// changesTo are the differences between two sets, sorted.
func (o *objects) changesTo(now *objects) []changedObject {
	changed := differing("ConfigMap", o.configMaps, now.configMaps, func(a, b *v1.ConfigMap) bool {
		return equality.Semantic.DeepEqual([]any{a.Data, a.BinaryData, a.Immutable}, []any{b.Data, b.BinaryData, b.Immutable})
	})
	return append(changed, differing("Secret", o.secrets, now.secrets, func(a, b *v1.Secret) bool {
		return equality.Semantic.DeepEqual([]any{a.Data, a.Type, a.Immutable}, []any{b.Data, b.Type, b.Immutable})
	})...)
}

func differing[T any](kind string, before, now map[types.NamespacedName]*T, same func(a, b *T) bool) []changedObject {
	var changed []changedObject
	for name, old := range before {
		if current := now[name]; current == nil || old != current && !same(old, current) {
			changed = append(changed, changedObject{kind, name})
		}
	}
	for name := range now {
		if before[name] == nil {
			changed = append(changed, changedObject{kind, name})
		}
	}
	slices.SortFunc(changed, func(a, b changedObject) int {
		return compareNames(a.NamespacedName, b.NamespacedName)
	})
	return changed
}

func (o *objects) list() ([]*v1.ConfigMap, []*v1.Secret) {
	return slices.Collect(maps.Values(o.configMaps)), slices.Collect(maps.Values(o.secrets))
}
