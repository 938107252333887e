package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestPaths(t *testing.T) {
	no := false
	debugging := func(k *kubeletconfig.KubeletConfiguration) { k.EnableDebuggingHandlers = &no }
	noCheckpoints := func(k *kubeletconfig.KubeletConfiguration) { k.FeatureGates = map[string]bool{checkpointGate: false} }
	const off = "405 Debug endpoints are disabled.\n"
	for _, test := range []struct {
		method, path string
		change       func(*kubeletconfig.KubeletConfiguration)
		want         string
	}{
		{"GET", "/nothing", nil, "404 404: Page Not Found"},
		{"GET", "/", nil, "404 404: Page Not Found"},
		{"GET", "/run/a/b/c", nil, "405 405: Method Not Allowed"},
		{"DELETE", "/pods", nil, "405 405: Method Not Allowed"},
		{"GET", "/healthz", nil, "200 ok"},
		{"GET", "/healthz/syncloop", nil, "200 ok"},
		{"GET", "/healthz?verbose", nil, "200 [+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"},
		{"GET", "/healthz?verbose&exclude=log&exclude=x", nil, "200 [+]ping ok\n[+]log excluded: ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\nhealthz check passed\n"},
		{"GET", "/pods", nil, `200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`},
		{"GET", "/pods/", nil, `200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`},
		{"GET", "/metrics/cadvisor", nil, "501 lifepod does not serve /metrics/cadvisor"},
		{"POST", "/checkpoint/a/b/c", nil, "404 pod does not exist"},            // A-NODE-7
		{"GET", "/checkpoint/a/b/c", nil, "405 405: Method Not Allowed"},        // A-NODE-7
		{"POST", "/checkpoint/a/b/c", noCheckpoints, "404 404: Page Not Found"}, // A-NODE-7
		{"POST", "/exec/a/b/c?output=1", nil, "404 pod does not exist"},
		{"POST", "/exec/a/b/c", nil, "400 you must specify at least 1 of stdin, stdout, stderr"},
		{"GET", "/attach/a/b/uid/c?error=1&tty=1", nil, "400 you must specify at least 1 of stdin, stdout, stderr"},
		{"POST", "/portForward/a/b", nil, "404 pod does not exist"},
		{"POST", "/run/a/b/c?cmd=x", nil, "404 pod does not exist"},
		{"PUT", "/debug/flags/v", nil, "405 flags endpoint is disabled."},
		{"GET", "/debug/pprof/", func(k *kubeletconfig.KubeletConfiguration) { k.EnableProfilingHandler = &no }, "405 profiling endpoint is disabled."},
		{"GET", "/logs/", func(k *kubeletconfig.KubeletConfiguration) { k.EnableSystemLogHandler = &no }, "405 logs endpoint is disabled."},
		{"POST", "/exec/a/b/c", debugging, off},
		{"GET", "/containerLogs/a/b/c", debugging, off},
		{"GET", "/runningpods/", debugging, off},
		{"GET", "/debug/pprof/heap", debugging, off},
		{"GET", "/logs/x", debugging, off},
		{"GET", "/configz", debugging, "404 404: Page Not Found"},
		{"GET", "/healthz", debugging, "200 ok"},
	} {
		c := testConfig(t, &fakeNode{})
		if test.change != nil {
			test.change(c.Kubelet)
		}
		want := test.want
		if strings.HasSuffix(want, "endpoint is disabled.") {
			want += "\n"
		}
		assert.Deep(t, fmt.Sprintf("%s %s", test.method, test.path), want, request1(t, c, test.method, test.path))
	}
}

// A method that a path does not have is refused with those that it has (A-NODE-1, A-NODE-6).
func TestAllow(t *testing.T) {
	h := (&Server{Config: testConfig(t, &fakeNode{})}).routes()
	for _, test := range []struct{ method, path, want string }{
		{"POST", "/pods", "GET"},
		{"POST", "/containerLogs/a/b/c", "GET"},
		{"POST", "/runningpods/", "GET"},
		{"POST", "/logs/x", "GET"},
		{"PUT", "/debug/pprof/profile", "GET"},
		{"GET", "/run/a/b/c", "POST"},
		{"DELETE", "/exec/a/b/c", "GET, POST"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		if got := w.Header().Get("Allow"); got != test.want || w.Code != http.StatusMethodNotAllowed {
			t.Errorf("A-NODE-1 A-NODE-6 %s %s: %d, Allow %q, want 405, %q", test.method, test.path, w.Code, got, test.want)
		}
	}
}

func TestUnhealthy(t *testing.T) {
	c := testConfig(t, &fakeNode{sick: errors.New("the worker hangs")})
	for path, want := range map[string]string{
		"/healthz":                  "500 [+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
		"/healthz?exclude=syncloop": "200 ok",
		"/healthz/syncloop":         "500 internal server error: the worker hangs\n",
	} {
		assert.Deep(t, path, want, ask1(t, c, path))
	}
}

func TestConfigz(t *testing.T) {
	c := testConfig(t, &fakeNode{})
	c.Kubelet.MaxPods = 77
	code, text, _ := strings.Cut(ask1(t, c, "/configz"), " ")
	var got struct {
		Kubeletconfig kubeletconfig.KubeletConfiguration `json:"kubeletconfig"`
	}
	err := json.Unmarshal([]byte(text), &got)
	assert.Require(t, err == nil && code == "200", "%s %v: %s", code, err, text)
	assert.Deep(t, "", *c.Kubelet, got.Kubeletconfig)
}

func TestPagesAreText(t *testing.T) {
	c := testConfig(t, &fakeNode{})
	c.About.Flags = map[string]string{"v": "2", "config": "/x"}
	got, want := ask1(t, c, "/flagz"), "\nconfig=/x\nv=2\n"
	assert.True(t, strings.HasSuffix(got, want), "flagz %q does not end with %q", got, want)
	got = ask1(t, c, "/statusz")
	assert.True(t, strings.HasPrefix(got, "200 \nkubelet statusz\n"), "statusz %q", got)
}

// TestPodsAreThoseOfTheSources: A-NODE-6, with their statuses.
func TestPodsAreThoseOfTheSources(t *testing.T) {
	node := &fakeNode{}
	node.set(testPod(runningStatus(2)))
	code, text, _ := strings.Cut(ask1(t, testConfig(t, node), "/pods"), " ")
	var got v1.PodList
	err := json.Unmarshal([]byte(text), &got)
	assert.Require(t, err == nil && code == "200", "%s %v: %s", code, err, text)
	want := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []v1.Pod{*testPod(runningStatus(2))}}
	assert.Deep(t, "A-NODE-6", want, got)
}

// TestReadOnlyPort: figures and pods for everybody, nothing else.
func TestReadOnlyPort(t *testing.T) {
	t.Parallel()
	c := testConfig(t, &fakeNode{})
	c.TLS = serving(t, newAuthority(t))
	no := false
	c.Kubelet.Authentication.Anonymous.Enabled = &no
	c.Kubelet.Authentication.X509.ClientCAFile = filepath.Join(t.TempDir(), "ca")
	newAuthority(t).write(t, c.Kubelet.Authentication.X509.ClientCAFile)
	c.Kubelet.ReadOnlyPort = freePort(t)
	s := serveTest(t, c)
	base := "http://" + s.listeners[1].Addr().String()
	for path, want := range map[string]int{"/pods": 200, "/healthz": 200, "/exec/a/b/c": 405, "/logs/": 405, "/configz": 404} {
		response := assert.Get(http.Get(base + path)).Must(t)
		response.Body.Close()
		assert.Equal(t, want, response.StatusCode, "%s", path)
	}
}

// TestPodsThatAreNotKnownYet: what is asked for a pod before the node knows all its pods waits for it (A-NODE-6).
func TestPodsThatAreNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(s *Server) string {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/containerLogs/default/web/main", nil)
			r.SetPathValue("namespace", "default")
			r.SetPathValue("pod", "web")
			s.containerLogs(w, r)
			return strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body))
		}
		unheard := make(chan struct{})
		node := &fakeNode{logs: t.TempDir(), unheard: unheard}
		s := &Server{Config: Config{Node: node, Log: slog.New(slog.DiscardHandler)}}
		began := time.Now()
		if got := ask(s); got != `404 pod "web" does not exist` || time.Since(began) != hearing {
			t.Errorf("without an answer of the API server: %s after %s", got, time.Since(began))
		}
		go func() {
			time.Sleep(time.Second)
			node.set(testPod(v1.ContainerStatus{}))
			close(unheard)
		}()
		if got := ask(s); strings.Contains(got, "does not exist") || time.Since(began) != hearing+time.Second {
			t.Errorf("of a pod that is heard of after a second: %s after %s", got, time.Since(began))
		}
		node.set()
		began = time.Now()
		got := ask(s)
		assert.True(t, got == `404 pod "web" does not exist` && time.Since(began) == 0, "of no pod: %s after %s", got, time.Since(began))
	})
}
