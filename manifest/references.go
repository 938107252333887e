package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// reference is a place in a Pod that names a ConfigMap or Secret.
type reference struct {
	path     *field.Path // of the name
	kind     string
	name     string
	keys     []keyReference
	optional bool // neither the object nor the keys need be there
	env      bool // for a variable, which takes no binaryData
}

// keyReference is a key that has to be in the object.
type keyReference struct {
	path *field.Path
	key  string
}

// references are those that have to be satisfied before the Pod can start.
func references(spec *v1.PodSpec) []reference {
	path := field.NewPath("spec")
	refs := volumeReferences(path.Child("volumes"), spec.Volumes)
	refs = append(refs, containerReferences(path.Child("initContainers"), spec.InitContainers)...)
	return append(refs, containerReferences(path.Child("containers"), spec.Containers)...)
}

func volumeReferences(path *field.Path, volumes []v1.Volume) (refs []reference) {
	for i, v := range volumes {
		at := path.Index(i)
		if c := v.ConfigMap; c != nil {
			at := at.Child("configMap")
			refs = append(refs, to("ConfigMap", at, c.LocalObjectReference, c.Optional, itemKeys(at, c.Items)...))
		}
		if s := v.Secret; s != nil {
			at := at.Child("secret")
			ref := to("Secret", at, v1.LocalObjectReference{Name: s.SecretName}, s.Optional, itemKeys(at, s.Items)...)
			ref.path = at.Child("secretName")
			refs = append(refs, ref)
		}
		if v.Projected != nil {
			refs = append(refs, projectedReferences(at.Child("projected", "sources"), v.Projected.Sources)...)
		}
	}
	return refs
}

func projectedReferences(path *field.Path, sources []v1.VolumeProjection) (refs []reference) {
	for i, source := range sources {
		if c := source.ConfigMap; c != nil {
			at := path.Index(i).Child("configMap")
			refs = append(refs, to("ConfigMap", at, c.LocalObjectReference, c.Optional, itemKeys(at, c.Items)...))
		}
		if s := source.Secret; s != nil {
			at := path.Index(i).Child("secret")
			refs = append(refs, to("Secret", at, s.LocalObjectReference, s.Optional, itemKeys(at, s.Items)...))
		}
	}
	return refs
}

func containerReferences(path *field.Path, containers []v1.Container) (refs []reference) {
	for i, c := range containers {
		for j, from := range c.EnvFrom {
			at := path.Index(i).Child("envFrom").Index(j)
			if r := from.ConfigMapRef; r != nil {
				refs = append(refs, to("ConfigMap", at.Child("configMapRef"), r.LocalObjectReference, r.Optional).forVariable())
			}
			if r := from.SecretRef; r != nil {
				refs = append(refs, to("Secret", at.Child("secretRef"), r.LocalObjectReference, r.Optional).forVariable())
			}
		}
		for j, env := range c.Env {
			if env.ValueFrom == nil {
				continue
			}
			at := path.Index(i).Child("env").Index(j).Child("valueFrom")
			if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
				at := at.Child("configMapKeyRef")
				refs = append(refs, to("ConfigMap", at, r.LocalObjectReference, r.Optional, keyReference{at.Child("key"), r.Key}).forVariable())
			}
			if r := env.ValueFrom.SecretKeyRef; r != nil {
				at := at.Child("secretKeyRef")
				refs = append(refs, to("Secret", at, r.LocalObjectReference, r.Optional, keyReference{at.Child("key"), r.Key}).forVariable())
			}
		}
	}
	return refs
}

func to(kind string, at *field.Path, object v1.LocalObjectReference, optional *bool, keys ...keyReference) reference {
	return reference{path: at.Child("name"), kind: kind, name: object.Name, keys: keys, optional: ptr.Deref(optional, false)}
}

func (r reference) forVariable() reference {
	r.env = true
	return r
}

func itemKeys(path *field.Path, items []v1.KeyToPath) (keys []keyReference) {
	for i, item := range items {
		keys = append(keys, keyReference{path.Child("items").Index(i).Child("key"), item.Key})
	}
	return keys
}
