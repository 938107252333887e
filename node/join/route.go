package join

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// route is one way to the API server, with its connections.
type route struct {
	transport http.RoundTripper
	dialer    *connrotation.Dialer
	taken     context.Context // ends when another route takes its place
	replace   context.CancelFunc

	mu       sync.Mutex
	underWay int // requests whose answers have not been read to their end
}

func newRoute(config *rest.Config) (*route, error) {
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext)
	config = rest.CopyConfig(config)
	config.Dial = dialer.DialContext
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("prepare connections to %s: %w", config.Host, err)
	}
	r := &route{transport: transport, dialer: dialer}
	r.taken, r.replace = context.WithCancel(context.Background())
	return r, nil
}

// retire ends watches at once, in order, so that they go on elsewhere from where they
// were, and closes the connections when the last other request has its answer, or
// after a while. All of them may share one connection.
func (r *route) retire(linger time.Duration) {
	r.replace()
	utilnet.CloseIdleConnectionsFor(r.transport)
	r.closeUnused()
	time.AfterFunc(linger, r.dialer.CloseAll)
}

// closeUnused closes the connections of a replaced route that has no requests.
func (r *route) closeUnused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay == 0 && r.taken.Err() != nil {
		r.dialer.CloseAll()
	}
}

func (r *route) count(change int) {
	r.mu.Lock()
	r.underWay += change
	r.mu.Unlock()
	if change < 0 {
		r.closeUnused()
	}
}

// send sends a request, which is under way until its answer's body ends.
func (r *route) send(request *http.Request) (*http.Response, error) {
	r.count(+1)
	done := sync.OnceFunc(func() { r.count(-1) })
	watch := request.URL.Query().Get("watch")
	replaced := context.Background() // never
	if watch == "true" || watch == "1" {
		ctx, cancel := context.WithCancel(request.Context())
		stop := context.AfterFunc(r.taken, cancel)
		finish := done
		done = func() { stop(); cancel(); finish() }
		request, replaced = request.WithContext(ctx), r.taken
	}
	response, err := r.transport.RoundTrip(request)
	switch {
	case err != nil && replaced.Err() != nil:
		done()
		return nil, errReplaced
	case err != nil, response.StatusCode == http.StatusSwitchingProtocols: // a stream is nobody's answer
		done()
		return response, err
	}
	response.Body = &body{response.Body, done, replaced}
	return response, nil
}

// body is that of an answer; done is called, at least once, when it has ended.
type body struct {
	io.ReadCloser
	done     func()
	replaced context.Context
}

// Read reads on. A watch whose credentials were replaced has ended, which is no error.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		if b.replaced.Err() != nil {
			err = io.EOF
		}
		b.done()
	}
	return n, err
}

// Close ends the answer.
func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
