package addons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// applying is one try to bring the cluster in step with a file.
type applying struct {
	Config
	path      string
	lastError string               // how it went last time, if not well
	id        string               // of the ApplySet
	live      map[string]bool      // IDs of all files that there are
	kept      map[types.UID]string // what was applied
}

// apply applies the objects of a file and deletes what is no longer in it.
func (a applying) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	before, err := a.recorded(ctx, a.path)
	if err != nil {
		return err
	}
	now, all := newSet(), newSet()
	var errs []error
	placed := objects[:0:0]
	for _, o := range objects {
		o, err := a.place(o, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", title(o), err))
			continue
		}
		placed = append(placed, o)
	}
	all.add(before)
	all.add(now)
	// Before anything is applied: what is interrupted is found again.
	if _, err := a.record(ctx, all, Status{File: a.path, Objects: len(objects), Message: cmp.Or(a.lastError, "being applied")}); err != nil {
		return err
	}
	for _, o := range placed {
		if err := a.one(ctx, o); err != nil {
			errs = append(errs, fmt.Errorf("apply %s: %w", title(o), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // what is missing in the cluster need not be missing in the file
	}
	if err := a.prune(ctx, all); err != nil {
		return err
	}
	_, err = a.record(ctx, now, Status{File: a.path, Applied: true, Objects: len(objects)})
	return err
}

// place puts an object into the set, and into a namespace if it needs one.
func (a applying) place(o *unstructured.Unstructured, s set) (*unstructured.Unstructured, error) {
	mapping, err := a.mapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return o, err
	}
	o = o.DeepCopy()
	switch namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; {
	case namespaced && o.GetNamespace() == "":
		o.SetNamespace(metav1.NamespaceDefault)
	case !namespaced && o.GetNamespace() != "":
		return o, errors.New("metadata.namespace must not be set: it is not in a namespace")
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[partOfLabel] = a.id
	o.SetLabels(labels)
	s.kinds[o.GroupVersionKind().GroupKind()] = true
	if o.GetNamespace() != "" {
		s.namespaces[o.GetNamespace()] = true
	}
	return o, nil
}

// mapping finds a type, also one that has come since it was last looked for.
func (a applying) mapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := a.Mapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		a.Mapper.Reset()
		mapping, err = a.Mapper.RESTMapping(kind, versions...)
	}
	return mapping, err
}

func (a applying) resource(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	return a.Dynamic.Resource(mapping.Resource)
}

// one applies one object, unless it is another file's.
func (a applying) one(ctx context.Context, o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	mapping, err := a.mapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	resource := a.resource(mapping, o.GetNamespace())
	found, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		if owner := found.GetLabels()[partOfLabel]; owner != a.id && a.live[owner] {
			return fmt.Errorf("it is in another file, too: leave it in one of them (%s: %s)", partOfLabel, owner)
		}
	}
	applied, err := resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err == nil {
		a.kept[applied.GetUID()] = o.GetName()
	}
	return err
}

// prune deletes what the cluster has of the set and what was not applied. What
// others live in or are instances of goes last.
func (a applying) prune(ctx context.Context, s set) error {
	var errs []error
	last := map[schema.GroupKind]bool{}
	for kind := range s.kinds {
		if kind.Kind == "Namespace" || kind.Kind == "CustomResourceDefinition" {
			last[kind] = true
		} else if err := a.pruneKind(ctx, kind, s); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		for kind := range maps.Keys(last) {
			errs = append(errs, a.pruneKind(ctx, kind, s))
		}
	}
	return errors.Join(errs...)
}

func (a applying) pruneKind(ctx context.Context, kind schema.GroupKind, s set) error {
	mapping, err := a.mapping(kind)
	if meta.IsNoMatchError(err) {
		return nil // the type is gone, and so are its objects
	}
	if err != nil {
		return err
	}
	namespaces := s.namespaces
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespaces = map[string]bool{v1.NamespaceAll: true}
	}
	for namespace := range namespaces {
		if err := a.pruneIn(ctx, mapping, namespace); err != nil {
			return fmt.Errorf("delete what is no longer in the file: %s: %w", mapping.Resource.Resource, err)
		}
	}
	return nil
}

func (a applying) pruneIn(ctx context.Context, mapping *meta.RESTMapping, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	members, err := a.resource(mapping, namespace).List(ctx, metav1.ListOptions{LabelSelector: partOfLabel + "=" + a.id})
	if err != nil {
		return err
	}
	for _, m := range members.Items {
		_, kept := a.kept[m.GetUID()]
		// Controllers copy labels to what they make, such as those of a Service to
		// its EndpointSlices.
		if kept || m.GetDeletionTimestamp() != nil || metav1.GetControllerOf(&m) != nil {
			continue
		}
		uid, background := m.GetUID(), metav1.DeletePropagationBackground
		err := a.resource(mapping, m.GetNamespace()).Delete(ctx, m.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s: %w", title(&m), err)
		}
		a.Log.Info("add-on: deleted, as it is no longer in the file", "file", a.path, "object", title(&m))
	}
	return nil
}
