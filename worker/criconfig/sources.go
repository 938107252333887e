package criconfig

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// addEnvFrom adds every key of the ConfigMaps and Secrets of `envFrom`; a later
// source wins over an earlier one (A-ENV-2). Keys are not filtered (A-ENV-3).
func (b *builder) addEnvFrom() error {
	for _, from := range b.Container.EnvFrom {
		data, err := b.envFromData(from)
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			b.vars.set(from.Prefix+key, data[key], envFromOrigin(from, key))
		}
	}
	return nil
}

func (b *builder) envFromData(from v1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		object, err := b.Objects.ConfigMap(b.Pod.Namespace, from.ConfigMapRef.Name)
		if object == nil || err != nil {
			return nil, unlessOptional(err, from.ConfigMapRef.Optional)
		}
		return object.Data, nil
	case from.SecretRef != nil:
		object, err := b.Objects.Secret(b.Pod.Namespace, from.SecretRef.Name)
		if object == nil || err != nil {
			return nil, unlessOptional(err, from.SecretRef.Optional)
		}
		data := make(map[string]string, len(object.Data))
		for key, value := range object.Data {
			data[key] = string(value)
		}
		return data, nil
	}
	return nil, nil
}

// resolve reads the source of one variable. Its result is never expanded
// (A-ENV-4); found is false if the source is optional and absent.
func (b *builder) resolve(from *v1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = b.field(from.FieldRef)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err = b.resource(from.ResourceFieldRef)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		return b.configMapKey(from.ConfigMapKeyRef)
	case from.SecretKeyRef != nil:
		return b.secretKey(from.SecretKeyRef)
	case from.FileKeyRef != nil:
		return b.fileKey(from.FileKeyRef)
	}
	return "", true, nil
}

func (b *builder) configMapKey(ref *v1.ConfigMapKeySelector) (string, bool, error) {
	object, err := b.Objects.ConfigMap(b.Pod.Namespace, ref.Name)
	if object == nil || err != nil {
		return "", false, unlessOptional(err, ref.Optional)
	}
	value, found := object.Data[ref.Key]
	if !found && !ptr.Deref(ref.Optional, false) {
		return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, b.Pod.Namespace, ref.Name)
	}
	return value, found, nil
}

func (b *builder) secretKey(ref *v1.SecretKeySelector) (string, bool, error) {
	object, err := b.Objects.Secret(b.Pod.Namespace, ref.Name)
	if object == nil || err != nil {
		return "", false, unlessOptional(err, ref.Optional)
	}
	value, found := object.Data[ref.Key]
	if !found && !ptr.Deref(ref.Optional, false) {
		return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, b.Pod.Namespace, ref.Name)
	}
	return string(value), found, nil
}

// unlessOptional drops the error of a missing object that is optional. It is
// returned unwrapped: the user sees the API's own text, as with Kubernetes.
func unlessOptional(err error, optional *bool) error {
	if ptr.Deref(optional, false) && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
