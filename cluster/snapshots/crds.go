package snapshots

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var files embed.FS

const (
	group = "snapshot.storage.k8s.io"
	// madeBy is a label of the custom resource definitions that are lifepod's to renew.
	madeBy, lifepod = "app.kubernetes.io/managed-by", "lifepod"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// classes and resources are the custom resources.
var (
	classes   = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "volumesnapshotclasses"}
	resources = []schema.GroupVersionResource{
		classes,
		{Group: group, Version: "v1", Resource: "volumesnapshots"},
		{Group: group, Version: "v1", Resource: "volumesnapshotcontents"},
	}
)

// ensureResources makes the custom resources, or renews those that lifepod has made, and waits
// until the API server serves them. Somebody else's are left as they are.
func ensureResources(ctx context.Context, client dynamic.Interface) error {
	all, err := read()
	if err != nil {
		return err
	}
	for _, definition := range all {
		if err := ensure(ctx, client, definition); err != nil {
			return fmt.Errorf("make %s: %w", definition.GetName(), err)
		}
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = nil
		for _, r := range resources {
			_, err := client.Resource(r).List(ctx, metav1.ListOptions{Limit: 1})
			last = errors.Join(last, err)
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", group, errors.Join(err, last))
	}
	return nil
}

func read() (all []*unstructured.Unstructured, err error) {
	entries, err := files.ReadDir("crds")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("crds", entry.Name()))
		if err != nil {
			return nil, err
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		definition.SetLabels(map[string]string{madeBy: lifepod})
		all = append(all, definition)
	}
	return all, nil
}

func ensure(ctx context.Context, client dynamic.Interface, definition *unstructured.Unstructured) error {
	found, err := client.Resource(definitions).Get(ctx, definition.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case found.GetLabels()[madeBy] != lifepod:
		return nil
	}
	_, err = client.Resource(definitions).Apply(ctx, definition.GetName(), definition, metav1.ApplyOptions{FieldManager: lifepod, Force: true})
	return err
}
