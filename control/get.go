package control

import (
	"encoding/json"
	"net/http"

	v1 "k8s.io/api/core/v1"
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
