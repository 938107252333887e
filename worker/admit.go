package worker

import (
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// admission is the first fact of a pod's life (A-ADM-1).
func (h *executor) admission() lifecycle.Fact {
	if host := h.engine.Admission.Host; host != nil {
		if refusal := admit.Check(h.pod, *host); refusal != nil {
			return lifecycle.Rejected(*refusal)
		}
	}
	return lifecycle.Accepted{}
}

// runtimeHandler is that of the pod's RuntimeClass, else the engine's; empty for the runtime's
// default one (A-CRI-13).
func (h *executor) runtimeHandler() (string, error) {
	class := ptr.Deref(h.pod.Spec.RuntimeClassName, "")
	if class == "" {
		return h.engine.Handler, nil
	}
	if h.engine.API.RuntimeClasses == nil {
		return class, nil
	}
	return h.engine.API.RuntimeClasses.Handler(class)
}

// recursiveReadOnly says whether the pod's handler can make a mount read-only
// with all that is mounted below it (A-VOL-2).
func (h *executor) recursiveReadOnly() bool {
	handler, err := h.runtimeHandler()
	return err == nil && h.engine.Features.Handlers[handler].RecursiveReadOnly
}

// userNamespace is the pod's own, nil for a pod with the host's users (A-SEC-6).
func (h *executor) userNamespace(handler string) (*runtimeapi.UserNamespace, error) {
	if ptr.Deref(h.pod.Spec.HostUsers, true) {
		return nil, nil
	}
	if !h.engine.Features.Handlers[handler].UserNamespaces {
		if handler != "" {
			return nil, fmt.Errorf("can't set `spec.hostUsers: false`, RuntimeClass handler %q does not support user namespaces", handler)
		}
		return nil, errors.New("can't set `spec.hostUsers: false`, runtime does not support user namespaces")
	}
	return h.engine.Config.Users.Of(h.engine.Folders.Pods, h.pod.UID)
}
