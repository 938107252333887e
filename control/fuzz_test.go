package control

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
)

// FuzzRequest sends any request that is no stream, judged by the real admission:
// it is answered with JSON, an error is a metav1.Status with a reason, and only
// what was not refused reaches the pod (A-ACT-5, A-COND-6, B-WRK-9).
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"DELETE", "", `{"gracePeriodSeconds":5}`},
		{"DELETE", "?x=%zz", `{"gracePeriodSeconds":9223372036854775807}`},
		{"POST", "/restart?container=main&graceful=true", ""},
		{"POST", "/ephemeralcontainers", `{"name":"debug","image":"i","targetContainerName":"main","command":["sh"],"env":[{"name":"a","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}`},
		{"POST", "/ephemeralcontainers", `{"name":"debug","image":"i","resources":{"limits":{"cpu":"1e99"}},"lifecycle":{}}`},
		{"POST", "/resize", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"1","memory":"1e100"}}},{"name":"main"}]}}`},
		{"POST", "/resize", `{"spec":{"initContainers":[{"name":"main","resources":{"requests":{"cpu":"-1"}}}]}}`},
		{"POST", "/conditions", `{"type":"a.b/c","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}`},
		{"POST", "/exec?command=ls&stdout=true", ""},
		{"GET", "/log?tailLines=1&sinceSeconds=9223372036854775807&previous=true", ""},
		{"GET", "/events", "[[[[["},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		target, err := url.Parse("http://x/v1/namespaces/default/pods/web" + path)
		if err != nil || !slices.Contains([]string{"GET", "POST", "DELETE"}, method) {
			return
		}
		for _, stream := range []string{"watch", "follow"} { // they end with the pod
			if target.Query().Has(stream) {
				return
			}
		}
		s, facts := admittingServer(t)
		request := httptest.NewRequest(method, "/", strings.NewReader(body))
		request.URL, request.RequestURI = target, ""
		got := httptest.NewRecorder()
		s.routes().ServeHTTP(got, request)
		judge(t, got, *facts)
		for _, fact := range *facts {
			if stop, ok := fact.(lifecycle.StopRequested); ok && stop.GraceSeconds != nil && *stop.GraceSeconds < 0 {
				t.Fatalf("grace %d", *stop.GraceSeconds)
			}
		}
		_, err = json.Marshal(s.Object.Pod())
		assert.Require(t, err == nil, "the pod can't be written any more: %v", err)
	})
}

// judge holds an answer against what was posted.
func judge(t *testing.T, got *httptest.ResponseRecorder, facts []lifecycle.Fact) {
	if got.Code < 400 {
		return
	}
	if len(facts) > 0 {
		t.Fatalf("refused with %d, and yet posted %T", got.Code, facts[0])
	}
	var status metav1.Status
	assert.Require(t, json.Unmarshal(got.Body.Bytes(), &status) == nil && int(status.Code) == got.Code && status.Message != "",
		"%d: the error is no metav1.Status: %q", got.Code, got.Body)
	assert.Require(t, got.Code != http.StatusInternalServerError, "internal error: %s", status.Message)
}

// admittingServer serves a pod that was really admitted.
func admittingServer(t *testing.T) (*Server, *[]lifecycle.Fact) {
	const text = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default"},"spec":{
		"initContainers":[{"name":"prep","image":"i"},{"name":"side","image":"i","restartPolicy":"Always"}],
		"containers":[{"name":"main","image":"i","resources":{"limits":{"cpu":"100m","memory":"64Mi"}}},{"name":"other","image":"i"}]}}`
	set := assert.Get(manifest.Read([]manifest.Source{{Name: "pod", Data: []byte(text)}}, manifest.Options{})).Must(t)
	set.Pod.Status = v1.PodStatus{Phase: v1.PodRunning}
	var facts []lifecycle.Fact
	return &Server{Config: Config{
		Object: NewObject(set.Pod), LogDir: t.TempDir(), WithEphemeralContainer: manifest.WithEphemeralContainer, WithResources: manifest.WithResources, Log: slog.New(slog.DiscardHandler),
		Post: func(f lifecycle.Fact) { facts = append(facts, f) },
	}}, &facts
}
