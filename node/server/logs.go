package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/worker/podlog"
)

// slowest is how long a client may take to read a piece of a log.
const slowest = 4 * time.Hour

// containerLogs answers what a container has written, from all files of its log
// (B-LOG-1), and with follow what it writes until it ends.
func (s *Server) containerLogs(w http.ResponseWriter, r *http.Request) {
	options, err := parseLogOptions(r.URL.Query(), time.Now())
	switch {
	case errors.Is(err, errInvalid):
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	name, container := r.PathValue("pod"), r.PathValue("container")
	pod, ok := s.named(r)
	if !ok {
		refuse(w, http.StatusNotFound, fmt.Sprintf("pod %q does not exist", name))
		return
	}
	if !slices.Contains(control.ContainerNames(pod), container) {
		refuse(w, http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", container, name))
		return
	}
	instance, log, err := s.openLog(pod, container, options.previous)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	defer log.Close()
	s.writeLog(w, r, options, logOf{pod: pod, container: container, instance: instance, log: log})
}

// openLog opens the log of the instance that is meant; the caller closes it.
func (s *Server) openLog(pod *v1.Pod, container string, previous bool) (instance int, log Log, err error) {
	instances, err := podlog.Instances(pod, container, previous)
	if err != nil {
		return 0, nil, err
	}
	for _, instance := range instances {
		log := s.Node.Open(pod, container, instance, func() {
			s.Log.Warn("output may be missing for a client: part of the log could not be read, or was removed before it was", "pod", pod.Name, "namespace", pod.Namespace, "container", container)
		})
		if log != nil {
			return instance, log, nil
		}
	}
	return 0, nil, fmt.Errorf("unable to retrieve container logs for %s", idOf(pod, container, previous))
}

// idOf is the container's ID with its scheme.
func idOf(pod *v1.Pod, container string, previous bool) string {
	status := podlog.StatusOf(pod, container)
	if last := status.LastTerminationState.Terminated; last != nil && (previous || status.State.Waiting != nil) {
		return last.ContainerID
	}
	return status.ContainerID
}

// logOf is one instance's log.
type logOf struct {
	pod       *v1.Pod
	container string
	instance  int
	log       Log
}

func (s *Server) writeLog(w http.ResponseWriter, r *http.Request, options logOptions, of logOf) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	lines := podlog.NewLines(&patientWriter{ResponseWriter: w, control: http.NewResponseController(w)}, options.LineOptions)
	if !options.follow {
		of.log.All(lines)
		if options.Stream == "" && lines.Err() == nil {
			s.reads.note(instanceKey{of.pod.UID, of.container, of.instance}, lines)
		}
		return
	}
	ended := func(ctx context.Context) <-chan struct{} { return s.ended(ctx, of) }
	of.log.Follow(r.Context(), lines, ended, func() { _ = http.NewResponseController(w).Flush() })
}

// ended is closed when the pod's status says that an instance has ended, or ctx
// has. A container that is looked at by nobody but its followers costs nothing.
func (s *Server) ended(ctx context.Context, of logOf) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s.awaitChange(ctx, of) {
		}
	}()
	return ended
}

// awaitChange waits for the pod's next status; false if nothing more is to be waited for.
func (s *Server) awaitChange(ctx context.Context, of logOf) bool {
	changed, forget := s.Changes.next(of.pod.UID) // before the look, so that none is missed
	defer forget()
	pod, ok := s.Node.PodByUID(of.pod.UID)
	if !ok || podlog.Ended(pod, of.container, of.instance) {
		return false
	}
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// patientWriter gives up a client that reads nothing for hours.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	until   time.Time
}

// Write writes.
func (w *patientWriter) Write(p []byte) (int, error) {
	if now := time.Now(); w.until.Sub(now) < slowest/2 { // rarely: it is a lock and a timer
		w.until = now.Add(slowest)
		_ = w.control.SetWriteDeadline(w.until) // one that can't has none
	}
	return w.ResponseWriter.Write(p)
}
