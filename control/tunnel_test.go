package control

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// runtimeStreams is a runtime's streaming server that echoes a line, and tells
// when its connection has ended.
func runtimeStreams(t *testing.T) (address string, over chan struct{}) {
	t.Helper()
	over = make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/exec/token" {
			http.Error(w, "unknown token", http.StatusNotFound)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer close(over)
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		for {
			line, err := buffered.ReadString('\n')
			if err != nil || line == "bye\n" {
				return
			}
			_, _ = io.WriteString(conn, "echo "+line)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, over
}

// dialTunnel connects to a server whose only request is tunneled to an address.
func dialTunnel(t *testing.T, to string, gone func()) (net.Conn, *http.Response, *bufio.Reader) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := tunnel(w, r, to, gone); err != nil {
			fail(w, err)
		}
	}))
	t.Cleanup(server.Close)
	at := assert.Get(url.Parse(server.URL)).Must(t)
	conn := assert.Get(net.Dial("tcp", at.Host)).Must(t)
	t.Cleanup(func() { _ = conn.Close() })
	assert.Must(t, assert.ErrorOf(io.WriteString(conn, "POST /any HTTP/1.1\r\nHost: lifepod\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")))
	in := bufio.NewReader(conn)
	response := assert.Get(http.ReadResponse(in, nil)).Must(t)
	return conn, response, in
}

// A tunnel passes both ways, and ends with the runtime.
func TestTunnel(t *testing.T) {
	to, over := runtimeStreams(t)
	conn, response, in := dialTunnel(t, to+"/exec/token", func() {})
	assert.Require(t, response.StatusCode == http.StatusSwitchingProtocols && response.Header.Get("Upgrade") == "SPDY/3.1",
		"%s %v", response.Status, response.Header)
	_, _ = io.WriteString(conn, "hello\nbye\n")
	text, err := io.ReadAll(in)
	assert.True(t, string(text) == "echo hello\n" && err == nil, "%q, %v", text, err)
	<-over
}

// A client that goes away ends the tunnel: the runtime would wait for ever.
func TestTunnelWithoutClient(t *testing.T) {
	to, over := runtimeStreams(t)
	conn, _, _ := dialTunnel(t, to+"/exec/token", func() {
		select {
		case <-over:
			t.Error("the runtime knew first that the client has gone")
		default:
		}
	})
	assert.Must(t, conn.Close())
	<-over
}

// What the runtime refuses, and a runtime that is not there, is reported.
func TestTunnelRefused(t *testing.T) {
	to, _ := runtimeStreams(t)
	for address, want := range map[string]string{
		to + "/exec/other":          "404 unknown token",
		"http://127.0.0.1:1/exec/t": "502 ",
		"nowhere":                   "502 ",
	} {
		_, response, _ := dialTunnel(t, address, func() {})
		text, err := io.ReadAll(response.Body)
		got := fmt.Sprintf("%d %s", response.StatusCode, text)
		assert.True(t, strings.HasPrefix(got, want) && err == nil, "%s: %q, %v, want %q", address, got, err, want)
	}
}
