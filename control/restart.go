package control

import (
	"net/http"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// restart asks for a restart without an exit: of one container, or of all in
// place (KEP-5532).
func (s *Server) restart(w http.ResponseWriter, r *http.Request) error {
	pod := s.Object.Pod()
	if err := living(pod); err != nil {
		return err
	}
	container := r.URL.Query().Get("container")
	if container != "" {
		if err := restartable(pod, container); err != nil {
			return err
		}
		if flag(r, "graceful") {
			return badRequest("graceful is for the restart of all containers: a single one is always stopped gracefully")
		}
	}
	s.Post(lifecycle.RestartRequested{Container: container, Graceful: flag(r, "graceful"), Because: "lifepod restart"})
	answer(w, http.StatusOK, pod)
	return nil
}

// living refuses what cannot be done to a pod that is ending.
func living(pod *v1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return conflict("pod %s is being stopped", pod.Name)
	case lifecycle.Terminal(pod.Status.Phase):
		return conflict("pod %s has ended, its phase is %s", pod.Name, pod.Status.Phase)
	}
	return nil
}

// Restartable are the containers that can be restarted by themselves: regular
// ones and sidecars.
func Restartable(pod *v1.Pod) (names []string) {
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.InitContainers {
		if lifecycle.IsSidecar(&c) {
			names = append(names, c.Name)
		}
	}
	return names
}

func restartable(pod *v1.Pod, container string) error {
	if err := known(pod, container); err != nil {
		return err
	}
	if names := Restartable(pod); !slices.Contains(names, container) {
		return badRequest("container %s cannot be restarted by itself: it is an init or an ephemeral container; want one of %s, or all", container, strings.Join(names, ", "))
	}
	return nil
}
