package handler

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// httpTimeout bounds a request that nothing else bounds: Kubernetes waits for
// ever for a server that hangs (A-HOOK-3).
const httpTimeout = 10 * time.Minute

// httpGet sends a request; any answer is a success (A-HOOK-3, B-HOOK-5).
func (r HookRun) httpGet(ctx context.Context, get *v1.HTTPGetAction) ([]lifecycle.Warning, error) {
	warnings, err := r.request(ctx, get)
	if err != nil {
		return nil, r.failed("HTTP", err, fmt.Sprintf("(%s)", get.Path), "")
	}
	return warnings, nil
}

func (r HookRun) request(ctx context.Context, get *v1.HTTPGetAction) ([]lifecycle.Warning, error) {
	if get.Host == "" && r.PodIP == "" {
		return nil, errors.New("failed to find networking container: the pod has no address")
	}
	request, err := HTTPRequest(ctx, get, r.Container, r.PodIP, HookAgent)
	if err != nil {
		return nil, err
	}
	err = r.send(request)
	if !answeredPlainly(err) {
		return nil, err
	}
	plain := request.Clone(ctx)
	plain.URL.Scheme = "http"
	plain.Header.Del("Authorization") // it was meant for an encrypted connection (A-HOOK-4)
	if r.send(plain) != nil {
		return nil, err
	}
	return []lifecycle.Warning{{
		Reason:  "LifecycleHTTPFallback",
		Message: fmt.Sprintf("request to HTTPS lifecycle hook %s got HTTP response, retry with HTTP succeeded", plain.URL.Host),
	}}, nil
}

func (r HookRun) send(request *http.Request) error {
	answer, err := HTTPClient(httpTimeout).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()             // only read
	_, _ = io.CopyN(io.Discard, answer.Body, MaxBodyBytes) // so that the server can end in peace
	if answer.StatusCode >= http.StatusBadRequest {
		r.Log.Warn("lifecycle hook: the server answered with an error", "container", r.Container.Name, "url", request.URL.Redacted(), "status", answer.StatusCode)
	}
	return nil
}

// answeredPlainly says that a server answered an HTTPS request in plain HTTP.
func answeredPlainly(err error) bool {
	refused, ok := errors.AsType[*url.Error](err)
	return ok && strings.Contains(refused.Err.Error(), "server gave HTTP response to HTTPS client")
}

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

// Who asks, as the User-Agent header says it: the version is that of the
// Kubernetes whose behaviour this is (A-PROBE-9, A-HOOK-3).
const (
	ProbeAgent = "kube-probe/1.37"
	HookAgent  = "kube-lifecycle/1.37"
)

// HTTPRequest is the request that get describes (A-PROBE-9). It goes to podIP unless
// get names a host; agent is sent as User-Agent unless get has one.
func HTTPRequest(ctx context.Context, get *v1.HTTPGetAction, container *v1.Container, podIP, agent string) (*http.Request, error) {
	port, err := PortOf(get.Port, container)
	if err != nil {
		return nil, err
	}
	host := get.Host
	if host == "" {
		host = podIP
	}
	where := location(get.Path)
	where.Scheme = "http"
	if get.Scheme != "" {
		where.Scheme = strings.ToLower(string(get.Scheme))
	}
	where.Host = net.JoinHostPort(host, strconv.Itoa(port))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header = headers(get.HTTPHeaders, agent)
	request.Host = request.Header.Get("Host")
	return request, nil
}

// location reads a path, which may have a query; one that can't be read is a
// path that is escaped as a whole.
func location(path string) *url.URL {
	if u, err := url.Parse(path); err == nil {
		return u
	}
	return &url.URL{Path: path}
}

func headers(given []v1.HTTPHeader, agent string) http.Header {
	h := http.Header{}
	for _, one := range given {
		h.Add(one.Name, one.Value)
	}
	if _, set := h["User-Agent"]; !set {
		h.Set("User-Agent", agent)
	}
	if _, set := h["Accept"]; !set {
		h.Set("Accept", "*/*")
	} else if h.Get("Accept") == "" {
		h.Del("Accept")
	}
	return h
}
