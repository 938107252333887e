package manifest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"github.com/lifepod/lifepod/lifecycle"
)

// Update is what a new version of the manifest changes for a Pod that runs.
type Update struct {
	// Changed names what is taken over: ConfigMaps and Secrets, and the Pod's labels and annotations.
	Changed []string
	// Ignored are fields of the Pod's spec that differ and don't change while it runs.
	Ignored []string
}

// Update compares the Set of a Pod that runs with one that was read later, of the same Pod. An error is
// what an API server would say to the change of an object, such as one that is immutable; then nothing
// is to be taken over.
func (s *Set) Update(later *Set) (u Update, err error) {
	var errs []error
	if s.Pod.Namespace != later.Pod.Namespace || s.Pod.Name != later.Pod.Name {
		return u, fmt.Errorf("the Pod that runs is %s/%s, not %s/%s", s.Pod.Namespace, s.Pod.Name, later.Pod.Namespace, later.Pod.Name)
	}
	errs = append(errs, s.unsatisfied(later))
	for _, name := range names(s.ConfigMaps, later.ConfigMaps) {
		if old, now := named(s.ConfigMaps, name), named(later.ConfigMaps, name); configMapDiffers(old, now) {
			u.Changed = append(u.Changed, "ConfigMap "+name)
			errs = append(errs, refusal("ConfigMap", name, configMapErrors(old, now)))
		}
	}
	for _, name := range names(s.Secrets, later.Secrets) {
		if old, now := named(s.Secrets, name), named(later.Secrets, name); secretDiffers(old, now) {
			u.Changed = append(u.Changed, "Secret "+name)
			errs = append(errs, refusal("Secret", name, secretErrors(old, now)))
		}
	}
	if !maps.Equal(s.Pod.Labels, later.Pod.Labels) {
		u.Changed = append(u.Changed, lifecycle.ChangedLabels)
	}
	if !maps.Equal(s.Pod.Annotations, later.Pod.Annotations) {
		u.Changed = append(u.Changed, lifecycle.ChangedAnnotations)
	}
	u.Ignored = differences(field.NewPath("spec"), reflect.ValueOf(s.Pod.Spec), reflect.ValueOf(later.Pod.Spec))
	return u, errors.Join(errs...)
}

type namedObject interface{ GetName() string }

func names[T namedObject](lists ...[]T) []string {
	var all []string
	for _, list := range lists {
		for _, o := range list {
			all = append(all, o.GetName())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// named is the object of that name, nil if there is none.
func named[T namedObject](list []T, name string) (none T) {
	for _, o := range list {
		if o.GetName() == name {
			return o
		}
	}
	return none
}

func configMapDiffers(a, b *v1.ConfigMap) bool {
	return a == nil || b == nil || !equality.Semantic.DeepEqual([]any{a.Data, a.BinaryData, a.Immutable}, []any{b.Data, b.BinaryData, b.Immutable})
}

func secretDiffers(a, b *v1.Secret) bool {
	return a == nil || b == nil || !equality.Semantic.DeepEqual([]any{a.Data, a.Type, a.Immutable}, []any{b.Data, b.Type, b.Immutable})
}

// configMapErrors are those of a change; an object that comes or goes is fine.
func configMapErrors(old, now *v1.ConfigMap) field.ErrorList {
	if old == nil || now == nil {
		return nil
	}
	var was, is core.ConfigMap
	if err := errors.Join(corev1.Convert_v1_ConfigMap_To_core_ConfigMap(old, &was, nil), corev1.Convert_v1_ConfigMap_To_core_ConfigMap(now, &is, nil)); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	is.ObjectMeta = was.ObjectMeta // each reading gives another UID and time
	is.ResourceVersion = "1"
	return validation.ValidateConfigMapUpdate(&is, &was)
}

func secretErrors(old, now *v1.Secret) field.ErrorList {
	if old == nil || now == nil {
		return nil
	}
	var was, is core.Secret
	if err := errors.Join(corev1.Convert_v1_Secret_To_core_Secret(old, &was, nil), corev1.Convert_v1_Secret_To_core_Secret(now, &is, nil)); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	is.ObjectMeta = was.ObjectMeta
	is.ResourceVersion = "1"
	return validation.ValidateSecretUpdate(&is, &was)
}

// refusal is an error that shows no value: it may be a secret.
func refusal(kind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s %q: %s: %s", kind, name, errs[0].Field, errs[0].Detail)
}

// unsatisfied is the first reference of the Pod that runs that a later Set doesn't satisfy.
func (s *Set) unsatisfied(later *Set) error {
	ref, key := later.lacks(s.Pod)
	switch {
	case ref == nil:
		return nil
	case key == nil:
		return fmt.Errorf("the %s %q is gone, and %s of the Pod that runs needs it", ref.kind, ref.name, ref.path)
	}
	return fmt.Errorf("the %s %q has no key %q any more, and %s of the Pod that runs needs it", ref.kind, ref.name, key.key, key.path)
}

// lacks is the first reference of a Pod that a Set doesn't satisfy, nil if there is none, and the key that is missing; nil if it is
// the whole object.
func (s *Set) lacks(pod *v1.Pod) (*reference, *keyReference) {
	for _, ref := range references(&pod.Spec) {
		if ref.optional || ref.name == "" {
			continue
		}
		keys, found := s.keysOf(ref)
		if !found {
			return &ref, nil
		}
		for _, k := range ref.keys {
			if !slices.Contains(keys, k.key) {
				return &ref, &k
			}
		}
	}
	return nil, nil
}

func (s *Set) keysOf(ref reference) (keys []string, found bool) {
	if ref.kind == "Secret" {
		if secret := named(s.Secrets, ref.name); secret != nil {
			return sortedKeys(secret.Data), true
		}
		return nil, false
	}
	configMap := named(s.ConfigMaps, ref.name)
	if configMap == nil {
		return nil, false
	}
	keys = sortedKeys(configMap.Data)
	if !ref.env {
		keys = append(keys, sortedKeys(configMap.BinaryData)...)
	}
	return keys, true
}

// differences are the fields, as deep as they can be told apart, in which two values differ.
func differences(path *field.Path, a, b reflect.Value) []string {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return nil
	}
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		return differences(path, a.Elem(), b.Elem())
	case a.Kind() == reflect.Slice && a.Len() == b.Len():
		var list []string
		for i := range a.Len() {
			list = append(list, differences(path.Index(i), a.Index(i), b.Index(i))...)
		}
		return list
	case a.Kind() == reflect.Struct && a.Type().PkgPath() == apiPackage:
		var list []string
		for f := range fields(a.Type()) {
			below := path
			if !f.inline {
				below = path.Child(f.json)
			}
			list = append(list, differences(below, a.FieldByIndex(f.Index), b.FieldByIndex(f.Index))...)
		}
		return list
	}
	return []string{path.String()}
}
