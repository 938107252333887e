package worker

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
)

// A pod that the node refuses is Failed at once, and the runtime never hears of it
// (A-ADM-1, A-ADM-2).
func TestRejectedPodMakesNoCall(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.node.Admission.Host = &admit.Host{}
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		pod.Spec.SecurityContext.Sysctls = []v1.Sysctl{{Name: "net.core.somaxconn", Value: "1"}}
		web := s.run(pod)
		assert.Equal(t, 0, web.gone(), "it took")
		assert.Empty(t, s.Acted(), "calls")
		last := web.last()
		if last.Phase != v1.PodFailed || last.Reason != "SysctlForbidden" || last.Message != `Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted` {
			t.Errorf("phase %s, reason %q, message %q", last.Phase, last.Reason, last.Message)
		}
		assert.Equal(t, lifecycle.NotAdmitted, web.worker.End().Cause, "cause")
		assert.Deep(t, "events", []string{"SysctlForbidden"}, web.reasons("Warning"))
	})
}

// classes are RuntimeClasses by name.
type classes map[string]string

func (c classes) Handler(name string) (string, error) {
	if handler, found := c[name]; found {
		return handler, nil
	}
	return "", errors.New("no class " + name)
}

// The handler of the pod's class is the runtime's to run it with, and decides
// whether it can have users of its own (A-CRI-13, A-SEC-6).
func TestHandlersAndUsers(t *testing.T) {
	for _, tc := range []struct {
		name, class string
		handler     string // of pods without a class
		hostUsers   *bool
		call, event string
	}{
		{name: "no class", call: "RunPodSandbox web attempt=0"},
		{name: "another default", handler: "crun", call: "RunPodSandbox web attempt=0 handler=crun"},
		{name: "a class where there is another default", handler: "crun", class: "safe", call: "RunPodSandbox web attempt=0 handler=vm"},
		{name: "a class", class: "safe", call: "RunPodSandbox web attempt=0 handler=vm"},
		{name: "users", hostUsers: new(false), call: "RunPodSandbox web attempt=0 own-users"},
		{name: "the host's users", hostUsers: new(true), call: "RunPodSandbox web attempt=0"},
		{name: "no such class", class: "none", event: "Failed to create pod sandbox: no class none"},
		{
			name: "users with a handler that can't", class: "safe", hostUsers: new(false),
			event: "Failed to create pod sandbox: can't set `spec.hostUsers: false`, RuntimeClass handler \"vm\" does not support user namespaces",
		},
		{
			name: "users with a runtime that can't", class: "plain", hostUsers: new(false),
			event: "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
		},
	} {
		storyOf(t, tc.name, func(t *testing.T, s *story) {
			s.node.Handler = tc.handler
			s.node.API.RuntimeClasses = classes{"safe": "vm", "plain": ""}
			s.node.Features = cri.Features{Handlers: map[string]cri.HandlerFeatures{"": {UserNamespaces: tc.class == ""}, "vm": {}}}
			pod := podOf("web", v1.RestartPolicyAlways, "main")
			pod.Spec.HostUsers = tc.hostUsers
			if tc.class != "" {
				pod.Spec.RuntimeClassName = &tc.class
			}
			web := s.run(pod)
			if tc.call != "" {
				web.await("the pod to run", running)
			} else {
				web.awaitEvent(tc.event)
			}
			assert.True(t, slices.ContainsFunc(s.Acted(), func(c string) bool { return c == tc.call }) == (tc.call != ""),
				"calls %q, want %q", s.Acted(), tc.call)
			web.ends(1)
		})
	}
}

// awaitEvent waits for a Kubernetes Event of that message.
func (l *life) awaitEvent(message string) {
	l.Helper()
	l.await("event "+message, func(v1.PodStatus) bool { return true }) // the first status: its sandbox is tried at once
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.True(l, slices.ContainsFunc(l.recorded, func(e lifecycle.RecordEvent) bool { return e.Message == message }),
		"no event %q in %v", message, l.recorded)
}
