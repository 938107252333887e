package control

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// stop asks for the pod's end, or for a sooner one (B-WRK-9).
func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	var options metav1.DeleteOptions
	if err := read(r, &options); err != nil {
		return err
	}
	grace := options.GracePeriodSeconds
	if grace != nil && *grace < 0 {
		return badRequest("gracePeriodSeconds %d: want 0 or more", *grace)
	}
	request := StopRequest(grace)
	s.Object.StopRequested(time.Now(), request)
	s.Post(request)
	answer(w, http.StatusOK, s.Object.Pod())
	return nil
}

// StopRequest is the request of lifepod stop: a nil grace is the pod's own, 0 kills.
func StopRequest(graceSeconds *int64) lifecycle.StopRequested {
	if graceSeconds != nil && *graceSeconds == 0 {
		return lifecycle.StopRequested{Force: true, Because: "lifepod stop --force"}
	}
	return lifecycle.StopRequested{GraceSeconds: graceSeconds, Because: "lifepod stop"}
}
