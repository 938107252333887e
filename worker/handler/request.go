package handler

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

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
