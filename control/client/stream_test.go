package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/lifepod/lifepod/internal/assert"
)

// session is the other side of a command and of a container's streams: its end is what it returns.
type session func(stdout io.Writer) error

func (s session) ExecInContainer(_ context.Context, _, _, _ string, _ []string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return s(out)
}

// serveStreams serves a pod's streams; cut breaks their connection.
func serveStreams(t *testing.T, with func(stdout io.Writer, cut func()) error) *Pod {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pod.sock")
	l := assert.Get(net.Listen("unix", path)).Must(t)
	type connection struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, c)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cut := func() { _ = r.Context().Value(connection{}).(net.Conn).Close() } // which is what the test is about
			s := session(func(out io.Writer) error { return with(out, cut) })
			remotecommand.ServeExec(w, r, s, "web", "1", "app", nil, &remotecommand.Options{Stdout: true}, 0, time.Minute, []string{remotecommand.StreamProtocolV4Name})
		}),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = server.Serve(l) }() // until the cleanup
	t.Cleanup(func() { _ = server.Close() })
	return &Pod{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}, socket: path}
}

// TestConnectionLost: a session whose end nobody has said is none that has succeeded, whether or not something was written.
func TestConnectionLost(t *testing.T) {
	for name, text := range map[string]string{"silent": "", "with output": "out"} {
		t.Run(name, func(t *testing.T) {
			lost := serveStreams(t, func(out io.Writer, cut func()) error {
				_, _ = io.WriteString(out, text) // it is the end that matters
				cut()
				return nil
			})
			_, err := lost.Exec(t.Context(), "app", []string{"true"}, Streams{Stdout: io.Discard})
			_, is := errors.AsType[*LostError](err)
			assert.True(t, is, "exec: %v", err)
			err = lost.Attach(t.Context(), "app", Streams{Stdout: io.Discard})
			_, is = errors.AsType[*LostError](err)
			assert.True(t, is, "attach: %v", err)
		})
	}
	good := serveStreams(t, func(io.Writer, func()) error { return nil })
	code, err := good.Exec(t.Context(), "app", []string{"true"}, Streams{Stdout: io.Discard})
	assert.True(t, code == 0 && err == nil, "a command that succeeds: %d, %v", code, err)
	assert.NoError(t, good.Attach(t.Context(), "app", Streams{Stdout: io.Discard}), "streams that end")
}

// TestLogBreaksOff: a log that is followed and breaks off has not ended.
func TestLogBreaksOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.sock")
	serve(t, path, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one\n") // its client sees it or not
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	pod := &Pod{Pod: &v1.Pod{}, socket: path, http: &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) },
	}}}
	log := assert.Get(pod.Log(t.Context(), LogOptions{Follow: true})).Must(t)
	text, err := io.ReadAll(log)
	_, is := errors.AsType[*LostError](err)
	assert.True(t, is && string(text) == "one\n", "%q, %v", text, err)
	_ = log.Close() // only read
}
