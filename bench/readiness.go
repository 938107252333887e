package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// readiness measures how long after the answer of a readiness probe the status
// says so, in both directions.
func (b *bed) readiness(ctx context.Context, record times.Record) error {
	probed := &answers{ready: true}
	server := httptest.NewServer(probed)
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	pod := b.pod()
	pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Host: host, Port: intstr.FromInt(number), Scheme: v1.URISchemeHTTP}},
		PeriodSeconds: 1, TimeoutSeconds: 1, FailureThreshold: 1, SuccessThreshold: 1,
	}
	l, err := b.begin(ctx, pod)
	if err != nil {
		return err
	}
	for _, up := range []bool{false, true} {
		probed.become(up)
		if _, err := l.statuses.await(func(p v1.PodStatus) bool { return ready(p) == up }); err != nil {
			return err
		}
		record("lifepod readiness flip", time.Since(probed.answeredAt()))
	}
	return l.end(lifecycle.StopRequested{Force: true})
}

// answers is what the probe asks. It notes when it first gave a new answer.
type answers struct {
	mu    sync.Mutex
	ready bool
	fresh bool
	at    time.Time
}

// ServeHTTP answers a probe.
func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh {
		a.fresh, a.at = false, time.Now()
	}
	if !a.ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (a *answers) become(ready bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready, a.fresh = ready, true
}

func (a *answers) answeredAt() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}
