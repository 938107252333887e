package nodes

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Link passes requests on while it is not cut. Then those that are under way end, whether or not the API
// server has carried them out, and new ones find no way.
type Link struct {
	to http.RoundTripper

	mu    sync.Mutex
	whole context.Context // done: it is cut
	cut   context.CancelFunc
}

func NewLink(to http.RoundTripper) *Link {
	l := &Link{to: to}
	l.Mend()
	return l
}

func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
}

// Mend makes it whole again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole, l.cut = context.WithCancel(context.Background())
}

func (l *Link) now() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole
}

func (l *Link) RoundTrip(request *http.Request) (*http.Response, error) {
	whole := l.now()
	if whole.Err() != nil {
		if request.Body != nil {
			_ = request.Body.Close() // as every RoundTripper has to
		}
		return nil, noWay("dial", request)
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(whole, cancel)
	over := func() { stop(); cancel() }
	response, err := l.to.RoundTrip(request.WithContext(ctx))
	if err != nil {
		over()
		if whole.Err() != nil && request.Context().Err() == nil {
			err = noWay("read", request)
		}
		return nil, err
	}
	response.Body = &body{response.Body, over}
	return response, nil
}

// WrappedRoundTripper is what carries requests (k8s.io/apimachinery/pkg/util/net).
func (l *Link) WrappedRoundTripper() http.RoundTripper { return l.to }

// noWay is the error of a machine whose network is gone.
func noWay(operation string, request *http.Request) error {
	return &net.OpError{Op: operation, Net: "tcp", Addr: address(request.URL.Host), Err: syscall.ENETUNREACH}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// body is a response's, which is read through the link.
type body struct {
	io.ReadCloser
	over func()
}

func (b *body) Close() error {
	defer b.over()
	return b.ReadCloser.Close()
}
