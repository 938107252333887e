package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
			refs = append(refs, reference{at.Child("name"), "ConfigMap", c.Name, itemKeys(at, c.Items), isTrue(c.Optional), false})
		}
		if s := v.Secret; s != nil {
			at := at.Child("secret")
			refs = append(refs, reference{at.Child("secretName"), "Secret", s.SecretName, itemKeys(at, s.Items), isTrue(s.Optional), false})
		}
		if v.Projected == nil {
			continue
		}
		for j, source := range v.Projected.Sources {
			at := at.Child("projected", "sources").Index(j)
			if c := source.ConfigMap; c != nil {
				at := at.Child("configMap")
				refs = append(refs, reference{at.Child("name"), "ConfigMap", c.Name, itemKeys(at, c.Items), isTrue(c.Optional), false})
			}
			if s := source.Secret; s != nil {
				at := at.Child("secret")
				refs = append(refs, reference{at.Child("name"), "Secret", s.Name, itemKeys(at, s.Items), isTrue(s.Optional), false})
			}
		}
	}
	return refs
}

func containerReferences(path *field.Path, containers []v1.Container) (refs []reference) {
	for i, c := range containers {
		for j, from := range c.EnvFrom {
			at := path.Index(i).Child("envFrom").Index(j)
			if r := from.ConfigMapRef; r != nil {
				refs = append(refs, reference{at.Child("configMapRef", "name"), "ConfigMap", r.Name, nil, isTrue(r.Optional), true})
			}
			if r := from.SecretRef; r != nil {
				refs = append(refs, reference{at.Child("secretRef", "name"), "Secret", r.Name, nil, isTrue(r.Optional), true})
			}
		}
		for j, env := range c.Env {
			if env.ValueFrom == nil {
				continue
			}
			at := path.Index(i).Child("env").Index(j).Child("valueFrom")
			if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
				at := at.Child("configMapKeyRef")
				refs = append(refs, reference{at.Child("name"), "ConfigMap", r.Name, []keyReference{{at.Child("key"), r.Key}}, isTrue(r.Optional), true})
			}
			if r := env.ValueFrom.SecretKeyRef; r != nil {
				at := at.Child("secretKeyRef")
				refs = append(refs, reference{at.Child("name"), "Secret", r.Name, []keyReference{{at.Child("key"), r.Key}}, isTrue(r.Optional), true})
			}
		}
	}
	return refs
}

func itemKeys(path *field.Path, items []v1.KeyToPath) (keys []keyReference) {
	for i, item := range items {
		keys = append(keys, keyReference{path.Child("items").Index(i).Child("key"), item.Key})
	}
	return keys
}

func isTrue(b *bool) bool { return b != nil && *b }

// checkReferences wants each ConfigMap, Secret and key that the Pod names to be among the documents.
// A pull secret that is missing is a warning, as the kubelet would try the pull without it.
func (in *input) checkReferences() {
	pod, o := in.pod.typed, in.pod.object
	for _, ref := range references(&pod.Spec) {
		if len(in.errs) < maxErrors && ref.name != "" && !ref.optional {
			in.errs = append(in.errs, in.resolve(o, pod.Namespace, ref)...)
		}
	}
	for i, secret := range pod.Spec.ImagePullSecrets {
		if secret.Name != "" && in.find("Secret", pod.Namespace, secret.Name) == nil {
			path := field.NewPath("spec", "imagePullSecrets").Index(i).Child("name").String()
			in.warnings = append(in.warnings, o.warning(path, "there is no Secret %q: images are pulled without it", secret.Name))
		}
	}
}

func (in *input) resolve(o *object, namespace string, ref reference) (errs []*Error) {
	target := in.find(ref.kind, namespace, ref.name)
	if target == nil {
		problem := fmt.Sprintf("there is no %s %q in namespace %s", ref.kind, ref.name, namespace)
		return []*Error{o.errorf(ref.path.String(), in.wantObject(ref), "%s", problem)}
	}
	keys := target.keys
	if ref.env {
		keys = target.textKeys
	}
	for _, k := range ref.keys {
		if _, ok := slices.BinarySearch(keys, k.key); k.key != "" && !ok {
			errs = append(errs, o.errorf(k.path.String(), wantKey(k.key, keys), "the %s %q has no key %q", ref.kind, ref.name, k.key))
		}
	}
	return errs
}

// wantObject tells what there is in place of an object that is missing.
func (in *input) wantObject(ref reference) string {
	var names []string
	for _, d := range in.data {
		if d.object.kind == ref.kind && d.meta.Name == ref.name {
			return fmt.Sprintf("the one in %s is in namespace %s, a Pod uses those of its own", d.object.place(), d.meta.Namespace)
		}
		if d.object.kind == ref.kind {
			names = append(names, d.meta.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("add a %s to the files, or set optional: true", ref.kind)
	}
	slices.Sort(names)
	return fmt.Sprintf("add it to the files, or set optional: true; there are: %s", listed(names))
}

func wantKey(key string, keys []string) string {
	if near := nearest(key, keys); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(keys) == 0 {
		return "it has none"
	}
	return "there are: " + listed(keys)
}

// listed names the first few of many.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
