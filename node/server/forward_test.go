package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // what the interfaces of client-go have
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/lifepod/lifepod/internal/assert"
)

type asForwarder func(port int32, stream io.ReadWriteCloser) error

func (f asForwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	return f(port, stream)
}

// forwardOn has a session of a client with a node's API, as client-go does.
func forwardOn(t *testing.T, address string) httpstream.Connection {
	t.Helper()
	upgrade := assert.Get(spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}})).Must(t)
	target := &url.URL{Scheme: "https", Host: address, Path: "/portForward/default/web"}
	conn, _, err := clientspdy.NewDialer(clientspdy.NewUpgraderForStreaming(upgrade), &http.Client{Transport: upgrade}, http.MethodPost, target).Dial(forwardProtocol)
	assert.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // what is left of it
	return conn
}

// connectTo sends "in" to a port, and returns what comes back and what is said of an error.
func connectTo(t *testing.T, conn httpstream.Connection, id, port int) (out, failure string) {
	t.Helper()
	headers := http.Header{}
	headers.Set(v1.PortHeader, strconv.Itoa(port))
	headers.Set(v1.PortForwardRequestIDHeader, strconv.Itoa(id))
	headers.Set(v1.StreamType, v1.StreamTypeError)
	said := assert.Get(conn.CreateStream(headers)).Must(t)
	headers.Set(v1.StreamType, v1.StreamTypeData)
	data := assert.Get(conn.CreateStream(headers)).Must(t)
	_, _ = io.WriteString(data, "in") // a connection that is reset takes it, or not
	_ = data.Close()
	text, _ := io.ReadAll(data)
	why, err := io.ReadAll(said)
	assert.NoError(t, err, "port ", port)
	return string(text), string(why)
}

// TestOneConnectionFails: what becomes of one connection is no error of its client's session, which a client takes for the end of all
// connections, unless it is the pod that has gone, or something else than the connection that fails.
func TestOneConnectionFails(t *testing.T) {
	t.Parallel()
	const reset, refused, broken, gone = 9001, 9002, 9003, 9004
	var away atomic.Bool
	runtime := &fakeRuntime{}
	runtime.gone = away.Load
	runtime.url = connected(t, func(w http.ResponseWriter, r *http.Request, _ func()) {
		f := asForwarder(func(port int32, stream io.ReadWriteCloser) error {
			text := make([]byte, 2)
			_, _ = io.ReadFull(stream, text) // or nobody has written
			switch port {
			case reset:
				return errors.New("failed to execute portforward in network namespace: write: connection reset by peer")
			case refused:
				return errors.New("failed to connect to localhost:9002: dial tcp4 127.0.0.1:9002: connect: connection refused")
			case broken:
				return errors.New("socat was not found")
			case gone:
				away.Store(true)
				return errors.New("write: broken pipe")
			}
			_, err := io.WriteString(stream, "out for "+string(text))
			return err
		})
		portforward.ServePortForward(w, r, f, "", "", &portforward.V4Options{}, 0, time.Minute, []string{forwardProtocol})
	})
	address, _ := nodeWith(t, streamConfig(t, runtime))
	conn := forwardOn(t, address)
	for i, tc := range []struct {
		port      int
		out, said string
	}{
		{80, "out for in", ""}, {reset, "", ""}, {refused, "", ""}, {80, "out for in", ""}, {broken, "", "error forwarding port 9003 to pod web_default, uid u1: socat was not found"}, {gone, "", "broken pipe"},
	} {
		out, said := connectTo(t, conn, i, tc.port)
		assert.True(t, out == tc.out && strings.Contains(said, tc.said) && (tc.said != "" || said == ""),
			"port %d: %q, said %q; want %q and %q", tc.port, out, said, tc.out, tc.said)
	}
}

// TestForwardingEndsWithTheRuntime: a runtime that has gone ends the session of the client, who then knows.
func TestForwardingEndsWithTheRuntime(t *testing.T) {
	t.Parallel()
	runtime := &fakeRuntime{}
	runtime.url = connected(t, func(w http.ResponseWriter, r *http.Request, cut func()) {
		f := asForwarder(func(_ int32, stream io.ReadWriteCloser) error {
			_, err := io.ReadFull(stream, make([]byte, 2)) // both know the stream
			cut()
			return err
		})
		portforward.ServePortForward(w, r, f, "", "", &portforward.V4Options{}, 0, time.Minute, []string{forwardProtocol})
	})
	address, _ := nodeWith(t, streamConfig(t, runtime))
	_, said := connectTo(t, forwardOn(t, address), 1, 80)
	assert.True(t, strings.Contains(said, "the connection to the container runtime was lost"), "said %q", said)
}
