package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/internal/plain"
)

// checkReferences wants each ConfigMap, Secret and key that a Pod names to be among the documents.
// A pull secret that is missing is a warning, as the kubelet would try the pull without it.
func (in *input) checkReferences() {
	for _, p := range in.pods {
		if !p.copy {
			in.checkReferencesOf(p.object, p.typed)
		}
	}
}

func (in *input) checkReferencesOf(o *object, pod *v1.Pod) {
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
	if near := plain.Nearest(key, keys); near != "" {
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
