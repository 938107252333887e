package run

import (
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lifepod/lifepod/cri"
)

// runtimeClasses are those of the manifest. A name that is none of them is
// taken for the runtime's own name of a handler.
type runtimeClasses struct {
	classes  []*nodev1.RuntimeClass
	handlers map[string]cri.HandlerFeatures
}

// Handler is the handler of a class, or a NotFound error (A-CRI-13).
func (r runtimeClasses) Handler(name string) (string, error) {
	for _, class := range r.classes {
		if class.Name == name {
			return class.Handler, nil
		}
	}
	if _, known := r.handlers[name]; known {
		return name, nil
	}
	return "", apierrors.NewNotFound(nodev1.Resource("runtimeclass"), name)
}
