package run

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/manifest"
)

// objects are the ConfigMaps and Secrets of the manifests, the newest version that
// could be read.
type objects struct {
	current atomic.Pointer[[]*manifest.Set] // of each pod
}

func objectsOf(sets ...*manifest.Set) *objects {
	o := &objects{}
	o.replace(sets)
	return o
}

// replace makes the objects of the sets the current ones; they are not changed any more.
func (o *objects) replace(sets []*manifest.Set) { o.current.Store(&sets) }

// ConfigMap is the ConfigMap of that name, or a NotFound error.
func (o *objects) ConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	return find(o, func(s *manifest.Set) []*v1.ConfigMap { return s.ConfigMaps }, "configmaps", namespace, name)
}

// Secret is the Secret of that name, or a NotFound error.
func (o *objects) Secret(namespace, name string) (*v1.Secret, error) {
	return find(o, func(s *manifest.Set) []*v1.Secret { return s.Secrets }, "secrets", namespace, name)
}

func find[O metav1.Object](o *objects, of func(*manifest.Set) []O, resource, namespace, name string) (none O, err error) {
	for _, set := range *o.current.Load() {
		for _, one := range of(set) {
			if one.GetNamespace() == namespace && one.GetName() == name {
				return one, nil
			}
		}
	}
	return none, apierrors.NewNotFound(v1.Resource(resource), name)
}

// runtimeClasses are those of the manifest. A name that is none of them is
// taken for the runtime's own name of a handler.
type runtimeClasses struct {
	classes  []*nodev1.RuntimeClass
	handlers map[string]cri.HandlerFeatures
}

// Handler is the handler of a class, or a NotFound error (A-CRI-13).
func (r runtimeClasses) Handler(name string) (string, error) {
	for _, class := range r.classes {
		if class.Name == name {
			return class.Handler, nil
		}
	}
	if _, known := r.handlers[name]; known {
		return name, nil
	}
	return "", apierrors.NewNotFound(nodev1.Resource("runtimeclass"), name)
}
