package control

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// tunnel passes a request on to the runtime's streaming server, and the upgraded
// connection after it, until either side ends it. It calls gone when the client
// disconnects, before the runtime notices: the runtime may then kill the process, after which
// its children can no longer be found.
func tunnel(w http.ResponseWriter, r *http.Request, to string, gone func()) error {
	target, err := url.Parse(to)
	if err != nil || target.Host == "" {
		return refuse(http.StatusBadGateway, "", "the runtime's streaming address %q is none", to)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = target, target.Host
		},
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			fail(w, refuse(http.StatusBadGateway, "", "ask the runtime for its streams: %v", err))
		},
	}
	left := sync.OnceFunc(func() {
		gone()
		cancel()
	})
	proxy.ServeHTTP(&watchedWriter{ResponseWriter: w, left: left}, r.WithContext(ctx))
	return nil
}

// watchedWriter tells when the client of an upgraded connection has gone: the
// proxy would wait for the runtime, which does not care.
type watchedWriter struct {
	http.ResponseWriter
	left func()
}

// Unwrap is for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack gives out the connection, watched.
func (w *watchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &watchedConn{Conn: conn, left: w.left}, buffered, nil
}

// watchedConn is the client's connection.
type watchedConn struct {
	net.Conn
	left func()
}

// Read notices that the client has gone.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.left()
	}
	return n, err
}

// Write notices that the client has gone.
func (c *watchedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.left()
	}
	return n, err
}

// CloseWrite says that the runtime has said all; the client then closes.
func (c *watchedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
