package source

import (
	"maps"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

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
