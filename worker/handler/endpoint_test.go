package handler

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lifepod/lifepod/internal/assert"
)

var container = &v1.Container{Ports: []v1.ContainerPort{{Name: "web", ContainerPort: 8080}, {Name: "80", ContainerPort: 90}}}

// TestPort: A-PROBE-9, numbers, names, and numbers in a string.
func TestPort(t *testing.T) {
	for _, tc := range []struct {
		port    intstr.IntOrString
		want    int
		wantErr string
	}{
		{port: intstr.FromInt32(443), want: 443},
		{port: intstr.FromString("web"), want: 8080},
		{port: intstr.FromString("80"), want: 90},
		{port: intstr.FromString("8000"), want: 8000},
		{port: intstr.FromString("nobody"), wantErr: `strconv.Atoi: parsing "nobody": invalid syntax`},
		{port: intstr.FromInt32(0), wantErr: "invalid port number: 0"},
		{port: intstr.FromString("65536"), wantErr: "invalid port number: 65536"},
	} {
		got, err := PortOf(tc.port, container)
		assert.True(t, got == tc.want && endpointText(err) == tc.wantErr,
			"Port(%v) = %d, %q, want %d, %q", tc.port, got, endpointText(err), tc.want, tc.wantErr)
	}
}

func endpointText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRequest: A-PROBE-9, where a request goes and what its headers are.
func TestRequest(t *testing.T) {
	for _, tc := range []struct {
		name        string
		get         v1.HTTPGetAction
		podIP       string
		wantURL     string
		wantHost    string
		wantHeaders http.Header
	}{
		{
			name: "defaults", get: v1.HTTPGetAction{Port: intstr.FromString("web")}, podIP: "10.0.0.7",
			wantURL: "http://10.0.0.7:8080", wantHost: "10.0.0.7:8080",
			wantHeaders: http.Header{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}},
		},
		{
			name: "IPv6, scheme in capitals, a query", podIP: "fd00::7",
			get:     v1.HTTPGetAction{Scheme: v1.URISchemeHTTPS, Path: "/ready?deep=1&x=%20", Port: intstr.FromInt32(443)},
			wantURL: "https://[fd00::7]:443/ready?deep=1&x=%20", wantHost: "[fd00::7]:443",
			wantHeaders: http.Header{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}},
		},
		{
			name: "host and headers of its own", podIP: "10.0.0.7",
			get: v1.HTTPGetAction{Host: "127.0.0.1", Path: "x", Port: intstr.FromInt32(80), HTTPHeaders: []v1.HTTPHeader{
				{Name: "x-many", Value: "1"}, {Name: "X-Many", Value: "2"}, {Name: "user-agent", Value: "me"},
				{Name: "Accept", Value: ""}, {Name: "Host", Value: "shop.example"},
			}},
			wantURL: "http://127.0.0.1:80/x", wantHost: "shop.example",
			wantHeaders: http.Header{"User-Agent": {"me"}, "X-Many": {"1", "2"}, "Host": {"shop.example"}},
		},
		{
			name: "a path that can't be read", podIP: "10.0.0.7",
			get:     v1.HTTPGetAction{Path: "/%zz", Port: intstr.FromInt32(80)},
			wantURL: "http://10.0.0.7:80/%25zz", wantHost: "10.0.0.7:80",
			wantHeaders: http.Header{"User-Agent": {"kube-probe/1.37"}, "Accept": {"*/*"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := assert.Get(HTTPRequest(t.Context(), &tc.get, container, tc.podIP, ProbeAgent)).Must(t)
			host := r.Host
			if host == "" {
				host = r.URL.Host
			}
			assert.True(t, r.Method == http.MethodGet && r.URL.String() == tc.wantURL && host == tc.wantHost,
				"%s %s for %s, want GET %s for %s", r.Method, r.URL, host, tc.wantURL, tc.wantHost)
			assert.Deep(t, "headers", tc.wantHeaders, r.Header)
		})
	}
}

// TestClientIsPlain: A-PROBE-9, what a server sees of the client beside the
// headers that were asked for.
func TestClientIsPlain(t *testing.T) {
	seen := make(chan *http.Request, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r }))
	defer server.Close()
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	r := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)).Must(t)
	answer, err := HTTPClient(time.Minute).Do(r)
	assert.Require(t, err == nil, "a certificate that nobody signed: %v", err)
	_ = answer.Body.Close()
	got := <-seen
	encoding := got.Header.Get("Accept-Encoding")
	assert.True(t, encoding == "" && got.Close, "Accept-Encoding %q, connection kept: %v", encoding, !got.Close)
}

// TestRedirects: A-PROBE-10, they are followed on the same host, up to the tenth request.
func TestRedirects(t *testing.T) {
	for _, tc := range []struct {
		name     string
		length   int
		next     string // behind the last redirect
		wantCode int
		wantErr  string
	}{
		{name: "same host", length: 8, next: "/end", wantCode: http.StatusTeapot},
		{name: "one too many", length: 9, next: "/end", wantErr: "stopped after 10 redirects"},
		{name: "another host", length: 1, next: "http://other.example/", wantCode: http.StatusFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch hops := strings.Count(r.URL.Path, "x"); {
				case r.URL.Path == "/end":
					w.WriteHeader(http.StatusTeapot)
				case hops == tc.length:
					http.Redirect(w, r, tc.next, http.StatusFound)
				default:
					http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
				}
			}))
			defer server.Close()
			r := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/", nil)).Must(t)
			answer, err := HTTPClient(time.Minute).Do(r)
			assert.Require(t, strings.Contains(endpointText(err), tc.wantErr) && (err == nil) == (tc.wantErr == ""), "error %v, want %q", err, tc.wantErr)
			if err != nil {
				return
			}
			_ = answer.Body.Close()
			assert.Equal(t, tc.wantCode, answer.StatusCode, "status")
		})
	}
}
