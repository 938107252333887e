package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/lifepod/lifepod/internal/contract"
	"github.com/lifepod/lifepod/internal/plain"
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

// rules are the contract's.
var rules = sync.OnceValues(contract.Rules)

// rule quotes a rule of the contract.
func rule(r *http.Request) (any, error) {
	const width = 72
	all, err := rules()
	if err != nil {
		return nil, err
	}
	for _, rule := range all {
		if rule.Number == r.PathValue("number") {
			return map[string]string{"number": rule.Number, "text": contract.Plain(rule.Text, width)}, nil
		}
	}
	return nil, fmt.Errorf("there is no rule %s", plain.Line(r.PathValue("number")))
}
