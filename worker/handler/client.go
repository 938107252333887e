package handler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// MaxBodyBytes is how much of an answer is read.
const MaxBodyBytes = 10 << 10

const maxRedirects = 10

// HTTPClient sends requests to containers: without the machine's proxy, without
// keeping connections, without asking for compression and without verifying a
// server's certificate; it follows redirects to the same host only (A-PROBE-9,
// A-PROBE-10). The timeout is that of the whole exchange.
func HTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: transport, CheckRedirect: onSameHost}
}

var transport = &http.Transport{
	TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
	DisableKeepAlives:   true,
	DisableCompression:  true,
	DialContext:         Dial,
}

// Dial makes a connection that is closed properly but does not stay in TIME-WAIT
// for more than a second: probes make many. An address without a host is none:
// it would be this machine's (A-PROBE-17).
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return nil, fmt.Errorf("dial %s :%s: the pod has no address", network, port)
	}
	dialer := net.Dialer{Control: func(_, _ string, connection syscall.RawConn) error {
		return connection.Control(func(fd uintptr) {
			// a socket without it only lingers longer
			_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1})
		})
	}}
	return dialer.DialContext(ctx, network, address)
}

// onSameHost ends a chain of redirects with the answer that leaves the host.
func onSameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Hostname() != before[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(before) >= maxRedirects {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
