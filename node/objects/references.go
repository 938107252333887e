package objects

import (
	"slices"

	v1 "k8s.io/api/core/v1"

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
