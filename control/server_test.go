package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// served is a server whose worker is a list of facts.
type served struct {
	*Server
	t     *testing.T
	url   string
	facts []string
}

func serveTest(t *testing.T) *served {
	s := &served{t: t}
	s.Server = &Server{Config: Config{
		Object: NewObject(testPod()), LogDir: t.TempDir(), WithEphemeralContainer: fakeEphemeralContainer, WithResources: fakeResources, Log: slog.New(slog.DiscardHandler),
		Post: func(f lifecycle.Fact) { s.facts = append(s.facts, fmt.Sprintf("%T", f)) },
	}}
	h := httptest.NewServer(s.routes())
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// fakeEphemeralContainer refuses the name "bad".
func fakeEphemeralContainer(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	if c.Name == "bad" {
		return nil, errors.New("name: bad")
	}
	next := pod.DeepCopy()
	next.Spec.EphemeralContainers = append(next.Spec.EphemeralContainers, c)
	next.Generation++
	return next, nil
}

func fakeResources(pod, requested *v1.Pod) (*v1.Pod, error) {
	next := pod.DeepCopy()
	for _, c := range requested.Spec.Containers {
		if len(c.Resources.Limits) > 0 {
			next.Generation++
		}
	}
	return next, nil
}

// ask sends a request and returns the HTTP status with the message of an error.
func (s *served) ask(method, path, body string) string {
	s.t.Helper()
	request := assert.Get(http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))).Must(s.t)
	response := assert.Get(http.DefaultClient.Do(request)).Must(s.t)
	defer func() { _ = response.Body.Close() }()
	text := assert.Get(io.ReadAll(response.Body)).Must(s.t)
	if response.StatusCode < 400 {
		return fmt.Sprint(response.StatusCode)
	}
	var status metav1.Status
	assert.True(s.t, json.Unmarshal(text, &status) == nil && int(status.Code) == response.StatusCode && status.Kind == "Status",
		"%s %s: the error is no metav1.Status: %q", method, path, text)
	return fmt.Sprintf("%d %s", response.StatusCode, status.Message)
}

// Bad requests change nothing, and say in one line what is wrong.
func TestRequests(t *testing.T) {
	const pod = "/v1/namespaces/default/pods/web"
	for _, tc := range []struct {
		request, body string
		want          string
		fact          string
	}{
		{"GET /v1/pods", "", "200", ""},
		{"GET " + pod, "", "200", ""},
		{"GET " + pod + "/events", "", "200", ""},
		{"GET " + pod + "/services", "", "200", ""},
		{"GET /v1/namespaces/default/pods/other", "", "404 pod default/other is not served here", ""},
		{"GET /v2/pods", "", "404 there is no GET /v2/pods", ""},
		{"DELETE " + pod, "", "200", "lifecycle.StopRequested"},
		{"DELETE " + pod, `{"gracePeriodSeconds":5}`, "200", "lifecycle.StopRequested"},
		{"DELETE " + pod, `{"gracePeriodSeconds":-1}`, "400 gracePeriodSeconds -1: want 0 or more", ""},
		{"DELETE " + pod, `{"grace":5}`, `400 the request's body: json: unknown field "grace"`, ""},
		{"POST " + pod + "/restart", "", "200", "lifecycle.RestartRequested"},
		{"POST " + pod + "/restart?container=side", "", "200", "lifecycle.RestartRequested"},
		{"POST " + pod + "/restart?container=nope", "", `404 pod web has no container "nope": it has main, other, prep, side`, ""},
		{"POST " + pod + "/restart?container=prep", "", "400 container prep cannot be restarted by itself: it is an init or an ephemeral container; want one of main, other, side, or all", ""},
		{"POST " + pod + "/restart?container=main&graceful=true", "", "400 graceful is for the restart of all containers: a single one is always stopped gracefully", ""},
		{"POST " + pod + "/ephemeralcontainers", `{"name":"debug","image":"i"}`, "200", "lifecycle.EphemeralContainerAdded"},
		{"POST " + pod + "/ephemeralcontainers", `{"name":"bad"}`, "422 name: bad", ""},
		{"POST " + pod + "/resize", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"1"}}}]}}`, "200", "lifecycle.ResizeRequested"},
		{"POST " + pod + "/resize", `{"spec":{"containers":[{"name":"main"}]}}`, "200", ""},
		{"POST " + pod + "/resize", `{"spec":{"containers":[{"name":"nope"}]}}`, `404 pod web has no container "nope": it has main, other, prep, side`, ""},
		{"POST " + pod + "/resize", "", "400 nothing to resize: spec.containers and spec.resources are empty", ""},
		{"POST " + pod + "/conditions", `{"type":"a.b/c","status":"True"}`, "200", "lifecycle.ConditionSet"},
		{"POST " + pod + "/conditions", `{"type":"Ready","status":"True"}`, "403 condition Ready is lifepod's own and cannot be set", ""},
		{"POST " + pod + "/conditions", `{"type":"a","status":"true"}`, `400 condition a: status "true": want True, False or Unknown`, ""},
		{"POST " + pod + "/conditions", `{"status":"True"}`, `400 condition type "": name part must be non-empty`, ""},
		{"POST " + pod + "/exec", "", "400 no command to run", ""},
		{"POST " + pod + "/exec?command=ls&stdout=true&container=nope", "", `404 pod web has no container "nope": it has main, other, prep, side`, ""},
		{"POST " + pod + "/exec?command=ls&stdout=true", "", "409 container main is not running: it has not started yet", ""},
		{"POST " + pod + "/attach?container=other", "", "409 container other is not running: it has not started yet", ""},
		{"GET " + pod + "/log", "", `400 container "main" in pod "web" is waiting to start - no logs yet`, ""},
		{"GET " + pod + "/log?tailLines=-1", "", `400 tailLines "-1": want a number of 0 or more`, ""},
		{"GET " + pod + "/log?sinceSeconds=0", "", `400 sinceSeconds "0": want a number of 1 or more`, ""},
		{"GET " + pod + "/log?sinceTime=now", "", `400 sinceTime "now": want a time as RFC 3339 has it`, ""},
	} {
		t.Run(tc.request, func(t *testing.T) {
			s := serveTest(t)
			method, path, _ := strings.Cut(tc.request, " ")
			got := s.ask(method, path, tc.body)
			assert.True(t, got == tc.want, "got  %s\nwant %s", got, tc.want)
			assert.Equal(t, tc.fact, strings.Join(s.facts, " "), "posted")
		})
	}
}

// A pod that is ending takes a shorter grace and nothing else (B-WRK-4, B-WRK-9).
func TestRequestsWhileEnding(t *testing.T) {
	const pod = "/v1/namespaces/default/pods/web"
	s := serveTest(t)
	s.ask("DELETE", pod, "")
	for _, request := range []string{"/restart", "/ephemeralcontainers", "/conditions"} {
		assert.Equal(t, "409 pod web is being stopped", s.ask("POST", pod+request, ""), "%s", request)
	}
	got := s.ask("DELETE", pod, `{"gracePeriodSeconds":0}`)
	assert.True(t, got == "200" && len(s.facts) == 2, "a second stop: %s, posted %v", got, s.facts)
	s.Object.Gone()
	assert.Equal(t, "404 pod default/web is gone", s.ask("GET", pod, ""), "gone")
}

// A change of the spec is seen at once, with its generation.
func TestChangesAreSeen(t *testing.T) {
	s := serveTest(t)
	s.ask("POST", "/v1/namespaces/default/pods/web/ephemeralcontainers", `{"name":"debug","image":"i"}`)
	pod := s.Object.Pod()
	assert.True(t, len(pod.Spec.EphemeralContainers) == 1 && pod.Generation == 2,
		"%d ephemeral containers, generation %d, want 1 and 2", len(pod.Spec.EphemeralContainers), pod.Generation)
}

// A watch is Kubernetes' own: an event a line, until the pod is gone.
func TestWatchRequest(t *testing.T) {
	s := serveTest(t)
	request := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/namespaces/default/pods/web?watch=true", nil)).Must(t)
	response := assert.Get(http.DefaultClient.Do(request)).Must(t)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Scan()
	got := []string{word(t, lines.Bytes())}
	s.Object.Status(v1.PodStatus{Phase: v1.PodSucceeded})
	s.Object.Gone()
	for lines.Scan() {
		got = append(got, word(t, lines.Bytes()))
	}
	want := []string{"ADDED Pod Running", "MODIFIED Pod Succeeded", "DELETED Pod Succeeded"}
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "" && lines.Err() == nil, "%v (-want +got):\n%s", lines.Err(), diff)
}

func word(t *testing.T, line []byte) string {
	t.Helper()
	var e struct {
		Type   string
		Object v1.Pod
	}
	assert.Must(t, json.Unmarshal(line, &e))
	return fmt.Sprintf("%s %s %s", e.Type, e.Object.Kind, e.Object.Status.Phase)
}

// Whoever is not root by the kernel's word is refused, whatever is asked for.
func TestRootOnly(t *testing.T) {
	for _, tc := range []struct {
		name string
		peer any
		want int
	}{
		{"root", peer{uid: 0}, 200},
		{"somebody", peer{uid: 1000}, 403},
		{"nobody of another user namespace", peer{uid: 65534}, 403},
		{"unknown", peer{err: errors.New("no credentials")}, 403},
		{"not looked at", nil, 403},
	} {
		handler := rootOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		request := httptest.NewRequest(http.MethodDelete, "/v1/pods", nil)
		request = request.WithContext(context.WithValue(t.Context(), peerKey{}, tc.peer))
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, request)
		assert.Equal(t, tc.want, got.Code, "%s", tc.name)
	}
}
