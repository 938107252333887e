package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // what the interfaces of client-go have
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const forwardProtocol = "portforward.k8s.io"

// forwarding is one client's session: a pair of streams at the runtime's streaming server for each of its connections.
type forwarding struct {
	runtime httpstream.Connection
	ready   func() bool // the sandbox still is
	log     *slog.Logger
	last    atomic.Int64 // number of a connection
}

// forward serves a session until the client, the runtime or the node ends it.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, pod *v1.Pod, target *url.URL, f *forwarding, ports []int32) {
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{})
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	dialer := clientspdy.NewDialer(clientspdy.NewUpgraderForStreaming(upgrade), &http.Client{Transport: upgrade}, http.MethodPost, target)
	if f.runtime, _, err = dialer.Dial(forwardProtocol); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer context.AfterFunc(r.Context(), func() { _ = f.runtime.Close() })() // its streams end
	defer func() { _ = f.runtime.Close() }()                                 // the session is over
	portforward.ServePortForward(w, r, f, fullName(pod), string(pod.UID), &portforward.V4Options{Ports: ports}, 0, answerTimeout, []string{forwardProtocol})
}

// PortForward forwards one connection, client, until it ends. An error ends the client's session with all of its connections: what has
// become of one of them is no reason for that, while the pod is there to be connected to again.
func (f *forwarding) PortForward(_ context.Context, _, _ string, port int32, client io.ReadWriteCloser) error {
	err := f.connect(port, client)
	if err == nil || !ofConnection(err) || !f.ready() {
		return err
	}
	f.log.Info("a forwarded connection has failed", "port", port, "err", err)
	return nil
}

// connect connects a stream of a client with a port.
func (f *forwarding) connect(port int32, client io.ReadWriteCloser) error {
	headers := http.Header{}
	headers.Set(v1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(v1.PortForwardRequestIDHeader, strconv.FormatInt(f.last.Add(1), 10))
	headers.Set(v1.StreamType, v1.StreamTypeError)
	failure, err := f.runtime.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("forward port %d: %w", port, err)
	}
	_ = failure.Close() // nothing is written to it
	headers.Set(v1.StreamType, v1.StreamTypeData)
	data, err := f.runtime.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("forward port %d: %w", port, err)
	}
	defer f.runtime.RemoveStreams(failure, data)
	go func() {
		if _, err := io.Copy(data, client); err != nil {
			_ = data.Reset() // the other direction ends, too
			return
		}
		_ = data.Close() // the client has said all
	}()
	if _, err := io.Copy(client, data); err != nil {
		_ = data.Reset() // the client has gone
	}
	return f.failureOf(failure)
}

// failureOf is what the runtime says of a connection that has ended.
func (f *forwarding) failureOf(failure httpstream.Stream) error {
	text, err := io.ReadAll(failure)
	select {
	case <-f.runtime.CloseChan():
		return errors.New("the connection to the container runtime was lost")
	default:
	}
	if err == nil && len(text) > 0 {
		err = errors.New(withoutPod(string(text)))
	}
	return err
}

// withoutPod is a runtime's message without the names of the port and the pod, which ours has, too.
func withoutPod(text string) string {
	if _, rest, found := strings.Cut(text, ", uid "); found && strings.HasPrefix(text, "error forwarding port ") {
		_, text, _ = strings.Cut(rest, ": ")
	}
	return text
}

// connectionFailures are how connections fail, in the words of the system and of SPDY. There are no kinds of errors in the protocol.
var connectionFailures = []string{
	"broken pipe", "connection reset by peer", "connection refused", "connection timed out", "software caused connection abort",
	"use of closed network connection", "no route to host", "stream reset", "stream closed", "write on closed stream", "stream already closed",
}

// ofConnection says whether an error is that of one connection.
func ofConnection(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(connectionFailures, func(one string) bool { return strings.Contains(text, one) })
}

// stillReady says whether a sandbox is the one of its pod that is ready.
func (s *Server) stillReady(pod *v1.Pod, sandbox string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	now, err := s.sandboxOf(ctx, pod)
	return err == nil && now == sandbox
}

// readyTimeout is for the runtime to say whether a sandbox is still there.
const readyTimeout = 10 * time.Second
