package inprocess

import (
	"cmp"
	"context"
	"net/http"
)

// Transport has a handler of this process answer. The handler sees an HTTP/2 request of a client on
// this machine without TLS: who it is of, a token has to say.
type Transport struct{ Handler http.Handler }

// remote is the address that a server without a connection has its requests from.
const remote = "127.0.0.1:0"

// RoundTrip returns when the head of the response is there.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	a := newAnswer(cancel)
	context.AfterFunc(ctx, func() { a.fail(context.Cause(ctx)) })
	go a.serve(t.Handler, served(ctx, request))
	<-a.begun
	return a.response(request)
}

// served is a client's request as a server has it.
func served(ctx context.Context, request *http.Request) *http.Request {
	r := request.Clone(ctx)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	r.RemoteAddr, r.RequestURI = remote, request.URL.RequestURI()
	r.Host = cmp.Or(request.Host, request.URL.Host)
	r.URL.Scheme, r.URL.Host = "", ""
	if r.Body == nil {
		r.Body = http.NoBody
	}
	return r
}
