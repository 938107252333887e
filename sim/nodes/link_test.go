package nodes_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/nodes"
)

// Requests pass; when the link is cut those under way end, and others find no way until it is whole again.
func TestLink(t *testing.T) {
	under, release := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs":
			under <- struct{}{}
			<-release
		case "/streams":
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			under <- struct{}{}
			<-release
		default:
			_, _ = io.WriteString(w, "answer")
		}
	}))
	defer server.Close()
	defer close(release)
	l := nodes.NewLink(http.DefaultTransport)
	client := &http.Client{Transport: l, Timeout: time.Minute}
	answers := func() error {
		response, err := client.Get(server.URL)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		assert.True(t, err != nil || string(text) == "answer", "the answer is %q", text)
		return err
	}
	assert.Must(t, answers())
	ended := make(chan error, 2)
	go func() {
		_, err := client.Get(server.URL + "/hangs")
		ended <- err
	}()
	go func() {
		response, err := client.Get(server.URL + "/streams")
		if err == nil {
			defer response.Body.Close()
			_, err = io.ReadAll(response.Body)
		}
		ended <- err
	}()
	<-under
	<-under
	l.Cut()
	for range 2 {
		assert.Fails(t, <-ended, "a request that was under way has not failed")
	}
	assert.ErrorIs(t, syscall.ENETUNREACH, answers(), "a request without a link")
	l.Mend()
	assert.NoError(t, answers(), "after it was mended")
}
