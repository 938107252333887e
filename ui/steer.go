package ui

import (
	"encoding/json"
	"errors"
	"net/http"
)

// maxBody is the largest body of a request.
const maxBody = 4 << 10

// asked is what a page asks for.
type asked struct {
	Container string `json:"container"` // to restart; empty: all, in place
	Force     bool   `json:"force"`     // to stop: without grace
}

func readAsked(r *http.Request) (a asked, err error) {
	if r.Header.Get("Content-Type") != "application/json" {
		return a, errors.New("want JSON")
	}
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	return a, decoder.Decode(&a)
}

// restart restarts a container, or all of them in place.
func (s *Server) restart(r *http.Request) (any, error) {
	a, err := readAsked(r)
	if err != nil {
		return nil, err
	}
	pod, err := s.find(r.Context(), r.PathValue("uid"))
	if err != nil {
		return nil, err
	}
	_, err = pod.Restart(r.Context(), a.Container, false)
	return struct{}{}, err
}

// stopPod ends a pod with its own grace, or at once.
func (s *Server) stopPod(r *http.Request) (any, error) {
	a, err := readAsked(r)
	if err != nil {
		return nil, err
	}
	pod, err := s.find(r.Context(), r.PathValue("uid"))
	if err != nil {
		return nil, err
	}
	var grace *int64
	if a.Force {
		grace = new(int64)
	}
	return struct{}{}, pod.Stop(r.Context(), grace)
}
