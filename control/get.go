package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	list := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{}}
	if !s.isGone() {
		list.Items = append(list.Items, *s.Object.Pod())
	}
	answer(w, http.StatusOK, list)
}

func (s *Server) listEvents(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, v1.EventList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"},
		Items:    s.Object.Events(),
	})
	return nil
}

func (s *Server) listServices(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, v1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Items: s.Services})
	return nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	if flag(r, "watch") {
		s.watch(w, r)
		return nil
	}
	answer(w, http.StatusOK, s.Object.Pod())
	return nil
}

// watch writes every state of the pod, until it is gone or nobody reads.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	watcher := s.Object.Watch()
	defer s.Object.Unwatch(watcher)
	w.Header().Set("Content-Type", "application/json")
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	for {
		changes, lost := watcher.Take()
		for _, c := range changes {
			err := out.Encode(metav1.WatchEvent{Type: string(c.Type), Object: runtime.RawExtension{Object: c.Pod}})
			if err != nil || c.Type == watch.Deleted {
				return
			}
		}
		if lost || flush.Flush() != nil {
			return
		}
		select {
		case <-watcher.Ready():
		case <-r.Context().Done():
			return
		}
	}
}

// maxBody is the largest request body that is read.
const maxBody = 3 << 20

// refuse is an error with its HTTP status and one line for the user.
func refuse(code int32, reason metav1.StatusReason, format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...),
	}}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest, format, args...)
}

func notFound(format string, args ...any) error {
	return refuse(http.StatusNotFound, metav1.StatusReasonNotFound, format, args...)
}

func conflict(format string, args ...any) error {
	return refuse(http.StatusConflict, metav1.StatusReasonConflict, format, args...)
}

// invalid is what validation says of an object.
func invalid(err error) error {
	return refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "%v", err)
}

// fail answers with an error, as a metav1.Status.
func fail(w http.ResponseWriter, err error) {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		status = &apierrors.StatusError{}
		errors.As(refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "%v", err), &status)
	}
	answer(w, int(status.ErrStatus.Code), status.ErrStatus)
}

func answer(w http.ResponseWriter, code int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // API objects can be written
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // a client that has gone needs no answer
}

// read reads a request's body, which may be empty; a field that isn't known is an error.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return badRequest("the request's body: %v", err)
	}
	return nil
}

// flag reads a boolean of the query; absent means false.
func flag(r *http.Request, name string) bool {
	switch r.URL.Query().Get(name) {
	case "true", "1":
		return true
	}
	return false
}
