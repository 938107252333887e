package manifest

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// dataInput is a ConfigMap, a Secret or a claim, and where it comes from.
type dataInput struct {
	object    *object
	configMap *v1.ConfigMap // one of the three
	secret    *v1.Secret
	claim     *v1.PersistentVolumeClaim
	meta      *metav1.ObjectMeta
	keys      []string // sorted, of all its data
	textKeys  []string // sorted, of the data that a variable can take
}

func (in *input) readData(o *object) []*Error {
	d := &dataInput{object: o}
	in.data = append(in.data, d)
	switch o.kind {
	case "Secret":
		d.secret = &v1.Secret{}
		d.meta = &d.secret.ObjectMeta
		return o.decode(d.secret)
	case claimKind:
		d.claim = &v1.PersistentVolumeClaim{}
		d.meta = &d.claim.ObjectMeta
		return o.decode(d.claim)
	}
	d.configMap = &v1.ConfigMap{}
	d.meta = &d.configMap.ObjectMeta
	return o.decode(d.configMap)
}

// objectKey is what no two objects may share.
type objectKey struct{ kind, namespace, name string }

// unique refuses a second object of the same kind, namespace and name.
func (in *input) unique(o *object, meta *metav1.ObjectMeta) []*Error {
	key := objectKey{o.kind, meta.Namespace, meta.Name}
	if first := in.first[key]; first != nil && key.name != "" {
		return []*Error{o.errorf("metadata.name", "rename one or remove it", "there is another %s %q in %s", key.kind, key.name, first.place())}
	}
	in.first[key] = o
	return nil
}

// place completes the metadata of an object beside the Pods, namespace being that of all Pods; empty if they are in several, where
// an object must say in which it is.
func (in *input) place(o *object, meta *metav1.ObjectMeta, namespace string) bool {
	if namespace == "" && meta.Namespace == "" {
		in.errs = append(in.errs, o.errorf("metadata.namespace", "should be said, as the Pods are in several namespaces", "missing"))
		return false
	}
	fillMetadata(meta, namespace, in.options.Now)
	return true
}

// admitData completes and checks the ConfigMaps, Secrets and claims, namespace being that of all Pods; empty if they are in several.
func (in *input) admitData(namespace string) {
	for _, d := range in.data {
		if !in.place(d.object, d.meta, namespace) {
			continue
		}
		in.errs = append(in.errs, d.object.fieldErrors(d.admit())...)
		in.errs = append(in.errs, in.unique(d.object, d.meta)...)
		in.index[objectKey{d.object.kind, d.meta.Namespace, d.meta.Name}] = d
	}
}

func (d *dataInput) admit() field.ErrorList {
	if d.claim != nil {
		return admitClaim(d.claim)
	}
	if d.secret != nil {
		errs := admitSecret(d.secret)
		d.keys = sortedKeys(d.secret.Data)
		d.textKeys = d.keys
		return errs
	}
	errs := admitConfigMap(d.configMap)
	d.textKeys = sortedKeys(d.configMap.Data)
	d.keys = slices.Sorted(slices.Values(append(sortedKeys(d.configMap.BinaryData), d.textKeys...)))
	return errs
}

// find gives the object of a kind and name, nil if there is none.
func (in *input) find(kind, namespace, name string) *dataInput {
	return in.index[objectKey{kind, namespace, name}]
}
