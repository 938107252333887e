package join

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// linger is how long requests under way may go on over connections with credentials
// that have been replaced.
const linger = 30 * time.Second

// errReplaced is the error of a watch that begins while credentials are replaced.
var errReplaced = errors.New("the node's credentials have just been replaced")

// transport sends requests by the route of the moment.
type transport struct {
	linger  time.Duration
	current atomic.Pointer[route] // nil: the node has no credentials yet
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	r := t.current.Load()
	if r == nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, ErrNotJoined
	}
	return r.send(request)
}

// CloseIdleConnections closes those without a request, as utilnet.CloseIdleConnectionsFor expects.
func (t *transport) CloseIdleConnections() {
	if r := t.current.Load(); r != nil {
		utilnet.CloseIdleConnectionsFor(r.transport)
	}
}

// swap makes next the route. The one before is left as soon as possible: a watch
// would go on with the old credentials for long.
func (t *transport) swap(next *route) {
	if before := t.current.Swap(next); before != nil {
		before.retire(t.linger)
	}
}

func (t *transport) closeAll() {
	if r := t.current.Load(); r != nil {
		r.dialer.CloseAll()
	}
}
