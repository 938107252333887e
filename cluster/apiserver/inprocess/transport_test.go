package inprocess

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// both runs a test with a client of a real server, over HTTP/2, and with one of this package.
func both(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, client *http.Client, url string)) {
	t.Helper()
	t.Run("connection", func(t *testing.T) {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = true
		server.Config.ErrorLog = nil
		server.StartTLS()
		defer server.Close()
		test(t, server.Client(), server.URL)
	})
	t.Run("in process", func(t *testing.T) {
		test(t, &http.Client{Transport: Transport{Handler: handler}}, "https://there")
	})
}

func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	response := assert.Get(client.Get(url)).Must(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// TestAnswers: handler and client see the same as over a connection.
func TestAnswers(t *testing.T) {
	type seen struct {
		Method, URI, Path, Query, Proto, Of, Body string
		Status                                    int
		Head                                      string
		Got                                       string
	}
	var s seen
	both(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s = seen{Method: r.Method, URI: r.RequestURI, Path: r.URL.Path, Query: r.URL.RawQuery, Proto: r.Proto, Of: r.Header.Get("Of"), Body: string(body)}
		w.Header().Set("Head", "before")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("Head", "after")
		_, _ = io.WriteString(w, "made")
	}, func(t *testing.T, client *http.Client, url string) {
		request := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/pods?dryRun=All", strings.NewReader("a pod"))).Must(t)
		request.Header.Set("Of", "me")
		response := assert.Get(client.Do(request)).Must(t)
		defer response.Body.Close()
		got := assert.Get(io.ReadAll(response.Body)).Must(t)
		s.Status, s.Head, s.Got = response.StatusCode, response.Header.Get("Head"), string(got)
		want := seen{
			Method: "POST", URI: "/api/v1/pods?dryRun=All", Path: "/api/v1/pods", Query: "dryRun=All", Proto: "HTTP/2.0", Of: "me", Body: "a pod",
			Status: http.StatusCreated, Head: "before", Got: "made",
		}
		assert.Deep(t, "", want, s)
	})
}

// TestSaysNothing: a handler that writes nothing has answered with 200.
func TestSaysNothing(t *testing.T) {
	both(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, client *http.Client, url string) {
		response := get(t, client, url)
		body, err := io.ReadAll(response.Body)
		assert.True(t, response.StatusCode == http.StatusOK && len(body) == 0 && err == nil, "%s, %q, %v", response.Status, body, err)
	})
}

// TestStreams: the client reads what was flushed while the handler goes on, and closing the response
// ends the handler's request.
func TestStreams(t *testing.T) {
	more, ended := make(chan string), make(chan error, 1)
	both(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		for {
			select {
			case text := <-more:
				_, _ = io.WriteString(w, text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				ended <- r.Context().Err()
				return
			}
		}
	}, func(t *testing.T, client *http.Client, url string) {
		response := get(t, client, url)
		for _, text := range []string{"one", "another"} {
			more <- text
			got := make([]byte, len(text))
			_, err := io.ReadFull(response.Body, got)
			assert.Require(t, err == nil && string(got) == text, "%q, %v, want %q", got, err, text)
		}
		assert.NoError(t, response.Body.Close())
		select {
		case err := <-ended:
			assert.ErrorIs(t, context.Canceled, err, "the handler's request ended with")
		case <-time.After(time.Minute):
			t.Error("the handler's request goes on")
		}
	})
}

// TestCancelled: a request that is cancelled has no response, and one that has begun ends with
// an error.
func TestCancelled(t *testing.T) {
	for _, begun := range []bool{false, true} {
		both(t, func(w http.ResponseWriter, r *http.Request) {
			if begun {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}, func(t *testing.T, client *http.Client, url string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			request := assert.Get(http.NewRequestWithContext(ctx, http.MethodGet, url, nil)).Must(t)
			if !begun {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			response, err := client.Do(request)
			if begun {
				assert.Must(t, err)
				defer response.Body.Close()
				time.AfterFunc(20*time.Millisecond, cancel)
				_, err = io.ReadAll(response.Body)
			}
			assert.True(t, errors.Is(err, context.Canceled), "begun %v: %v", begun, err)
		})
	}
}

// TestBreaksOff: a response that the handler breaks off is no whole one.
func TestBreaksOff(t *testing.T) {
	for _, begun := range []bool{false, true} {
		both(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "the begin")
			if begun {
				w.(http.Flusher).Flush()
			}
			panic(http.ErrAbortHandler)
		}, func(t *testing.T, client *http.Client, url string) {
			response, err := client.Get(url)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			assert.True(t, err != nil, "begun %v: the response is whole", begun)
		})
	}
}

// TestWaitsForReader: a handler does not write on for ever to a client that reads nothing, and
// nothing of it is lost.
func TestWaitsForReader(t *testing.T) {
	const pieces = 64
	piece := bytes.Repeat([]byte("a"), most/4)
	both(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		for range pieces {
			_, _ = w.Write(piece)
		}
	}, func(t *testing.T, client *http.Client, url string) {
		response := get(t, client, url)
		if a, ok := response.Body.(reader); ok {
			time.Sleep(20 * time.Millisecond)
			a.mu.Lock()
			waiting := a.body.Len()
			a.mu.Unlock()
			assert.True(t, waiting <= most+len(piece), "%d bytes wait for the client, want %d at most", waiting, most+len(piece))
		}
		n, err := io.Copy(io.Discard, response.Body)
		assert.True(t, err == nil && n == pieces*int64(len(piece)), "%d bytes, %v, want %d", n, err, pieces*len(piece))
	})
}
