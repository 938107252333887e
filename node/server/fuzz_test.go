package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// FuzzRequest: whatever path and query are asked for, the node's API answers, and never with a file that is not of a log.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/containerLogs/default/web/main", "tailLines=-1&limitBytes=0&sinceSeconds=x"}, {"POST", "/exec/default/db/main", "command=x&output=1"},
		{"GET", "/containerLogs/default/../../secret", "follow=1"}, {"GET", "/journal/..%2f..%2fsecret", ""}, {"POST", "/run/a/b/c/d", "cmd=%00"},
		{"POST", "/portForward/default/db", "port=65536"}, {"GET", "/pods", "x=%zz"}, {"PUT", "//checkpoint//a", ""}, {"GET", "/configz", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, query string) {
		if strings.Contains(path, "web") && !strings.HasPrefix(path, "/containerLogs/") {
			return // nothing runs here
		}
		if strings.HasPrefix(path, "/debug/") || strings.HasPrefix(path, "/logs/") || strings.Contains(query, "follow") {
			return // profiles take their time; /logs are the machine's, and have tests of their own
		}
		dir := t.TempDir()
		const secret = "SECRET-OF-THE-MACHINE"
		assert.Must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600))
		node := &fakeNode{logs: filepath.Join(dir, "logs", "x")}
		node.set(testPod(runningStatus(0)))
		c := testConfig(t, node)
		c.Folders.Journal = filepath.Join(dir, "journal")
		s, err := New(c)
		assert.Must(t, err)
		answer := httptest.NewRecorder()
		request := (&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}, Body: http.NoBody, Proto: "HTTP/1.1", RemoteAddr: "127.0.0.1:1"}).WithContext(t.Context())
		s.guard.protect(s.routes()).ServeHTTP(answer, request)
		if answer.Code < 200 || strings.Contains(answer.Body.String(), secret) {
			t.Fatalf("%s %q?%q: %d %s", method, path, query, answer.Code, answer.Body)
		}
	})
}
