package main

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/e2e/relay"
)

// moments are when pods' volumes were published, and when the runtime was called for these pods.
type moments struct {
	mu   sync.Mutex
	pods map[string]*pod // by UID
}

type pod struct {
	answered time.Time // by NodePublishVolume, for the first time
	calls    []call
}

// call is RunPodSandbox or CreateContainer.
type call struct{ began, ended time.Time }

func (m *moments) of(uid string) *pod {
	if m.pods == nil {
		m.pods = map[string]*pod{}
	}
	if m.pods[uid] == nil {
		m.pods[uid] = &pod{}
	}
	return m.pods[uid]
}

// published notes an answer of NodePublishVolume.
func (m *moments) published(uid string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.of(uid); p.answered.IsZero() {
		p.answered = at
	}
}

// relay carries a call, and notes when it was made.
func (m *moments) relay(ctx context.Context, c relay.Call) error {
	began := time.Now()
	err := c.Carry(ctx)
	if uid := podOf(c); uid != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		p := m.of(uid)
		p.calls = append(p.calls, call{began, time.Now()})
	}
	return err
}

// podOf is the UID of the pod that a call is about, "" if it makes neither sandbox nor container.
func podOf(c relay.Call) string {
	switch c.Method {
	case "RunPodSandbox":
		var request runtimeapi.RunPodSandboxRequest
		_ = proto.Unmarshal(c.Request, &request) // the runtime tells who sends nonsense
		return request.GetConfig().GetMetadata().GetUid()
	case "CreateContainer":
		var request runtimeapi.CreateContainerRequest
		_ = proto.Unmarshal(c.Request, &request)
		return request.GetSandboxConfig().GetMetadata().GetUid()
	}
	return ""
}

// waits returns how long each pod's next call came after its volume was published, and forgets the
// pods.
func (m *moments) waits() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []time.Duration
	for _, p := range m.pods {
		if wait, ok := p.wait(); ok {
			all = append(all, wait)
		}
	}
	m.pods = nil
	return all
}

// wait is the time to the next call; ok: there was one.
func (p *pod) wait() (_ time.Duration, ok bool) {
	if p.answered.IsZero() {
		return 0, false
	}
	from, next := p.answered, time.Time{}
	for _, c := range p.calls {
		switch {
		case c.began.Before(p.answered):
			if c.ended.After(from) { // the runtime was busy with the pod
				from = c.ended
			}
		case next.IsZero() || c.began.Before(next):
			next = c.began
		}
	}
	return next.Sub(from), !next.IsZero()
}
