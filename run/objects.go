package run

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	for _, set := range *o.current.Load() {
		for _, c := range set.ConfigMaps {
			if c.Namespace == namespace && c.Name == name {
				return c, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(v1.Resource("configmaps"), name)
}

// Secret is the Secret of that name, or a NotFound error.
func (o *objects) Secret(namespace, name string) (*v1.Secret, error) {
	for _, set := range *o.current.Load() {
		for _, s := range set.Secrets {
			if s.Namespace == namespace && s.Name == name {
				return s, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(v1.Resource("secrets"), name)
}
