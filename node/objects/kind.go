package objects

import (
	"bytes"
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// object is a *v1.ConfigMap or a *v1.Secret.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is a kind of object that is watched one by one.
type kind struct {
	name     string // "ConfigMap"
	resource string // "configmap", as in Kubernetes' messages
	empty    object

	list  func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (watch.Interface, error)
	// immutable says that the object never changes while it exists.
	immutable func(object) bool
	// same says whether containers see no difference between two of them.
	same func(a, b object) bool
	// trim is the object without what nobody on a node reads.
	trim func(object) object
}

var configMap = &kind{
	name: "ConfigMap", resource: "configmap", empty: &v1.ConfigMap{},
	list: func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (runtime.Object, error) {
		return c.CoreV1().ConfigMaps(namespace).List(ctx, o)
	},
	watch: func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (watch.Interface, error) {
		return c.CoreV1().ConfigMaps(namespace).Watch(ctx, o)
	},
	immutable: func(o object) bool { return ptr.Deref(o.(*v1.ConfigMap).Immutable, false) },
	same: func(a, b object) bool {
		one, other := a.(*v1.ConfigMap), b.(*v1.ConfigMap)
		return maps.Equal(one.Data, other.Data) && maps.EqualFunc(one.BinaryData, other.BinaryData, bytes.Equal)
	},
	trim: func(o object) object {
		c := o.(*v1.ConfigMap)
		return &v1.ConfigMap{ObjectMeta: identity(c), Immutable: c.Immutable, Data: c.Data, BinaryData: c.BinaryData}
	},
}

var secret = &kind{
	name: "Secret", resource: "secret", empty: &v1.Secret{},
	list: func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (runtime.Object, error) {
		return c.CoreV1().Secrets(namespace).List(ctx, o)
	},
	watch: func(ctx context.Context, c kubernetes.Interface, namespace string, o metav1.ListOptions) (watch.Interface, error) {
		return c.CoreV1().Secrets(namespace).Watch(ctx, o)
	},
	immutable: func(o object) bool { return ptr.Deref(o.(*v1.Secret).Immutable, false) },
	same: func(a, b object) bool {
		one, other := a.(*v1.Secret), b.(*v1.Secret)
		return one.Type == other.Type && maps.EqualFunc(one.Data, other.Data, bytes.Equal)
	},
	trim: func(o object) object {
		s := o.(*v1.Secret)
		return &v1.Secret{ObjectMeta: identity(s), Immutable: s.Immutable, Data: s.Data, Type: s.Type}
	},
}

// identity is what is kept of an object's metadata.
func identity(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}
