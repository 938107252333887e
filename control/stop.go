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
	request := lifecycle.StopRequested{GraceSeconds: grace, Because: "lifepod stop"}
	if grace != nil && *grace == 0 {
		request = lifecycle.StopRequested{Force: true, Because: "lifepod stop --force"}
	}
	s.Object.StopRequested(time.Now(), request)
	s.Post(request)
	answer(w, http.StatusOK, s.Object.Pod())
	return nil
}
