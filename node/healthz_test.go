package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// The port for health has the paths of the node's API, which are as true (A-SYNC-11).
func TestHealthz(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- serveHealthz(ctx, l, func() error { return errors.New("the disk is full") }, slog.New(slog.DiscardHandler))
	}()
	for path, want := range map[string]string{
		"/healthz":                  "500 [+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n",
		"/healthz?exclude=syncloop": "200 ok",
		"/healthz/ping":             "200 ok",
		"/healthz/syncloop":         "500 internal server error: the disk is full\n",
		"/metrics":                  "404 404 page not found\n",
	} {
		assert.Equal(t, want, fetch(t, "http://"+l.Addr().String()+path), "%s: got", path)
	}
	cancel()
	assert.NoError(t, <-ended)
}

// fetch is the code and the text of an answer.
func fetch(t *testing.T, url string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	assert.Must(t, err)
	response, err := http.DefaultClient.Do(request)
	assert.Must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	assert.Must(t, err)
	return response.Status[:4] + string(text)
}
