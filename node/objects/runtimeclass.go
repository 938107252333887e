package objects

import (
	"context"
	"fmt"
	"log/slog"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/apiwatch"
)

// RuntimeClasses are the RuntimeClasses of a cluster.
type RuntimeClasses struct {
	classes *apiwatch.Lazy[*nodev1.RuntimeClass]
}

// NewRuntimeClasses makes RuntimeClasses that are watched by Run.
func NewRuntimeClasses(client kubernetes.Interface, log *slog.Logger) *RuntimeClasses {
	return &RuntimeClasses{apiwatch.NewLazy(apiwatch.LazyOptions[*nodev1.RuntimeClass]{
		What: "runtime classes", Example: &nodev1.RuntimeClass{}, Trim: trimClass, Log: log,
		From: func(reported func(context.Context, error)) cache.ListerWatcher {
			return apiwatch.Lister(client, client.NodeV1().RuntimeClasses(), nil, reported)
		},
	})}
}

// Run waits for the first lookup and then watches, until the context ends; call
// it once.
func (c *RuntimeClasses) Run(ctx context.Context) { c.classes.Run(ctx) }

// trimClass keeps name and handler: a pod's overhead and node selector are set by the
// API server.
func trimClass(class *nodev1.RuntimeClass) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class.Name, ResourceVersion: class.ResourceVersion}, Handler: class.Handler}
}

// Handler is the runtime handler of a class. For the error of a class that is not
// there apierrors.IsNotFound holds. It waits a moment for the first reading.
func (c *RuntimeClasses) Handler(class string) (string, error) {
	if class == "" {
		return "", nil
	}
	known, err := c.classes.Get(context.Background(), class)
	if err != nil {
		return "", fmt.Errorf("failed to lookup RuntimeClass %s: %w", class, err)
	}
	if known == nil {
		return "", apierrors.NewNotFound(nodev1.Resource("runtimeclass"), class)
	}
	return known.Handler, nil
}
