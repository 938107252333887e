package objects

import (
	"bytes"
	"context"
	"maps"
	"os/exec"
	"slices"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/lifecycle"
)

// objectName names an object that a pod uses.
type objectName struct {
	kind      *kind
	namespace string
	name      string
}

// uses are the objects that a pod uses; true for those whose changes its volumes show.
type uses map[objectName]bool

// references are the ConfigMaps and Secrets that a pod names: in its volumes, in
// the variables of its containers, and as credentials of its images.
func references(pod *v1.Pod) uses {
	u := uses{}
	for _, s := range pod.Spec.ImagePullSecrets {
		u.add(objectName{secret, pod.Namespace, s.Name}, false)
	}
	for _, c := range lifecycle.AllContainers(pod) {
		u.addVariables(pod.Namespace, &c)
	}
	for i := range pod.Spec.Volumes {
		u.addVolume(pod.Namespace, &pod.Spec.Volumes[i])
	}
	return u
}

func (u uses) add(r objectName, inVolume bool) {
	if r.name != "" {
		u[r] = u[r] || inVolume
	}
}

func (u uses) addVariables(namespace string, c *v1.Container) {
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			u.add(objectName{configMap, namespace, from.ConfigMapRef.Name}, false)
		}
		if from.SecretRef != nil {
			u.add(objectName{secret, namespace, from.SecretRef.Name}, false)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			u.add(objectName{configMap, namespace, e.ValueFrom.ConfigMapKeyRef.Name}, false)
		}
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			u.add(objectName{secret, namespace, e.ValueFrom.SecretKeyRef.Name}, false)
		}
	}
}

func (u uses) addVolume(namespace string, v *v1.Volume) {
	switch {
	case v.ConfigMap != nil:
		u.add(objectName{configMap, namespace, v.ConfigMap.Name}, true)
	case v.Secret != nil:
		u.add(objectName{secret, namespace, v.Secret.SecretName}, true)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				u.add(objectName{configMap, namespace, s.ConfigMap.Name}, true)
			}
			if s.Secret != nil {
				u.add(objectName{secret, namespace, s.Secret.Name}, true)
			}
		}
	}
}

func usesTrustBundles(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s v1.VolumeProjection) bool {
			return s.ClusterTrustBundle != nil
		})
	})
}

// inOwnGroup makes the end of the command's context that of its children, too.
func inOwnGroup(command *exec.Cmd) {
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	command.Cancel = func() error { return unix.Kill(-command.Process.Pid, unix.SIGKILL) }
}

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

	lister func(c kubernetes.Interface, namespace string, choose func(*metav1.ListOptions), reported func(context.Context, error)) cache.ListerWatcher
	// immutable says that the object never changes while it exists.
	immutable func(object) bool
	// same says whether containers see no difference between two of them.
	same func(a, b object) bool
	// trim is the object without what nobody on a node reads.
	trim func(object) object
}

var configMap = &kind{
	name: "ConfigMap", resource: "configmap", empty: &v1.ConfigMap{},
	lister: func(c kubernetes.Interface, namespace string, choose func(*metav1.ListOptions), reported func(context.Context, error)) cache.ListerWatcher {
		return apiwatch.Lister(c, c.CoreV1().ConfigMaps(namespace), choose, reported)
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
	lister: func(c kubernetes.Interface, namespace string, choose func(*metav1.ListOptions), reported func(context.Context, error)) cache.ListerWatcher {
		return apiwatch.Lister(c, c.CoreV1().Secrets(namespace), choose, reported)
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
