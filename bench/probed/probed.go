// Package probed is what a readiness probe asks whose answers are measured.
package probed

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Server answers a probe. It notes when it first gave a new answer.
type Server struct {
	server *httptest.Server

	mu    sync.Mutex
	ready bool
	fresh bool
	at    time.Time
}

// New makes a server that says that all is well, until Close.
func New() *Server {
	s := &Server{ready: true}
	s.server = httptest.NewServer(s)
	return s
}

func (s *Server) Close() { s.server.Close() }

// Probe asks it every second.
func (s *Server) Probe() *v1.Probe {
	at := netip.MustParseAddrPort(s.server.Listener.Addr().String())
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Host: at.Addr().String(), Port: intstr.FromInt(int(at.Port())), Scheme: v1.URISchemeHTTP}},
		PeriodSeconds: 1, TimeoutSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1,
	}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		s.fresh, s.at = false, time.Now()
	}
	if !s.ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// Become changes the answer.
func (s *Server) Become(ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready, s.fresh = ready, true
}

// AnsweredAt is when the answer of today was first given.
func (s *Server) AnsweredAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}
