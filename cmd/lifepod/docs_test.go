package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestDocs: a page is found with its ending and without, and nothing else is.
func TestDocs(t *testing.T) {
	pages := docs{"index.html": []byte("first"), "why.html": []byte("why"), "zh/index.html": []byte("zh")}
	for path, want := range map[string]string{
		"/": "first", "/why": "why", "/why.html": "why", "/zh/": "zh", "/zh": "zh",
		"/nope": "", "/../../etc/passwd": "", "/why/": "why", "*": "first",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if want == "" {
			assert.Equal(t, http.StatusNotFound, w.Code, "%s", path)
		} else {
			assert.Equal(t, want, w.Body.String(), "%s", path)
		}
	}
}
