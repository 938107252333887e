// Package streaming is the client's end of Kubernetes' remote command protocol, over SPDY, for whom a lost connection is no success.
package streaming

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // what the interfaces of client-go have
	protocol "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ErrLost says that a connection has ended before the other side said how the session has.
var ErrLost = errors.New("the connection was lost")

// Run has a session over a connection of its own, which transport dials (nil: as usual), and returns when it is over: nil, if the other side says that it
// was successful; [k8s.io/client-go/util/exec.CodeExitError], if the process has ended otherwise.
func Run(ctx context.Context, transport http.RoundTripper, target *url.URL, o remotecommand.StreamOptions) error {
	upgrade, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: transport})
	if err != nil {
		return err
	}
	// Since its fourth version the protocol has an end that is said: before, silence was success.
	executor, err := remotecommand.NewSPDYExecutorForProtocols(
		upgrade, upgrader{clientspdy.NewUpgraderForStreaming(upgrade)}, http.MethodPost, target, protocol.StreamProtocolV4Name)
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, o)
}

// upgrader makes connections that know whether their session's end was said.
type upgrader struct{ clientspdy.Upgrader }

// NewConnection makes one.
func (u upgrader) NewConnection(answer *http.Response) (httpstream.Connection, error) {
	made, err := u.Upgrader.NewConnection(answer)
	if err != nil {
		return nil, err
	}
	return connection{made}, nil
}

type connection struct{ httpstream.Connection }

// CreateStream makes a stream of the session.
func (c connection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	made, err := c.Connection.CreateStream(headers)
	if err != nil || headers.Get(v1.StreamType) != v1.StreamTypeError {
		return made, err
	}
	return &lastWord{Stream: made}, nil
}

// lastWord is the stream on which the other side says how the session has ended.
type lastWord struct {
	httpstream.Stream
	said bool
}

// Read reads it. Without anything to read its end is the connection's.
func (l *lastWord) Read(p []byte) (int, error) {
	n, err := l.Stream.Read(p)
	l.said = l.said || n > 0
	if errors.Is(err, io.EOF) && !l.said {
		err = ErrLost
	}
	return n, err
}
