package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// The port for health has the paths of the node's API, which are as true (A-SYNC-11).
func TestHealthz(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		if got := fetch(t, "http://"+l.Addr().String()+path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// fetch is the code and the text of an answer.
func fetch(t *testing.T, url string) string {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:4] + string(text)
}
