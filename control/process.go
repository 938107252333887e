package control

import (
	"context"
	"net/http"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// process names the first process of a container, without a container's name that of one which runs: root finds the container's files
// and the pod's network by it.
func (s *Server) process(w http.ResponseWriter, r *http.Request) error {
	pod := s.Object.Pod()
	container, err := containerOf(pod, r)
	if err != nil {
		return err
	}
	id, err := runningID(pod, container)
	if err != nil && r.URL.Query().Get("container") == "" {
		for _, other := range ContainerNames(pod) {
			if running, not := runningID(pod, other); not == nil {
				container, id, err = other, running, nil
			}
		}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	pid := cri.PID(ctx, s.Runtime, id)
	if pid == 0 {
		return conflict("the container runtime does not say which process is that of container %s", container)
	}
	process, err := pidfd.Find(pid)
	if err != nil {
		return conflict("container %s: %v", container, err)
	}
	answer(w, http.StatusOK, process)
	return nil
}
