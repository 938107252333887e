package addons

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
)

// decode reads the objects of a file, those that others need first.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	documents, problem := yamlsyntax.Documents(data)
	if problem != nil {
		return nil, problem
	}
	var objects []*unstructured.Unstructured
	for i, document := range documents {
		var err error
		if objects, err = appendDocument(objects, &document); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects, twice(objects)
}

func appendDocument(objects []*unstructured.Unstructured, document *yamlsyntax.Document) ([]*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(document.Text)
	if err != nil {
		return nil, document.Find(err)
	}
	if s := string(bytes.TrimSpace(text)); s == "null" || s == "{}" {
		return objects, nil // only comments
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if !object.IsList() {
		return append(objects, object), usable(object)
	}
	err = object.EachListItem(func(item runtime.Object) error {
		object := item.(*unstructured.Unstructured)
		objects = append(objects, object)
		return usable(object)
	})
	return objects, err
}

func usable(object *unstructured.Unstructured) error {
	switch {
	case object.GetAPIVersion() == "" || object.GetKind() == "":
		return errors.New("apiVersion and kind must be set")
	case object.GetName() == "":
		return fmt.Errorf("%s: metadata.name must be set: what has no name of its own can't be found again", object.GetKind())
	}
	return nil
}

// rank orders objects: what others live in or are instances of comes first.
func rank(object *unstructured.Unstructured) int {
	switch object.GroupVersionKind().GroupKind().String() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return 1
	}
	return 2
}

// twice refuses two objects of one name.
func twice(objects []*unstructured.Unstructured) error {
	seen := map[string]bool{}
	for _, o := range objects {
		if seen[title(o)+o.GroupVersionKind().Group] {
			return fmt.Errorf("%s is in the file twice", title(o))
		}
		seen[title(o)+o.GroupVersionKind().Group] = true
	}
	return nil
}

// title is how people call an object.
func title(o *unstructured.Unstructured) string {
	return strings.TrimSpace(o.GetKind() + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
}
