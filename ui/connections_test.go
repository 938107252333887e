package ui

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestManyConnections: users of this machine who don't have the link keep neither connections of the page nor its
// browser from it.
func TestManyConnections(t *testing.T) {
	s, c := serve(t, nil)
	link := s.Link()
	base := strings.TrimSuffix(strings.Split(link, "?")[0], "/")
	entered, _ := ask(t, c, http.MethodGet, link)
	cookie, page := entered.Cookies()[0], entered.Header.Get("Location")
	address := s.listener.Addr().String()
	for range 2 * maxConnections {
		silent := assert.Get(net.Dial("tcp", address)).Must(t)
		defer silent.Close()
	}
	answer, _ := ask(t, c, http.MethodGet, base+page, "Cookie: "+cookie.Name+"="+cookie.Value)
	assert.True(t, answer.StatusCode == http.StatusOK, "the browser beside many silent connections: %s", answer.Status)
	refused := assert.Get(net.Dial("tcp", address)).Must(t)
	defer refused.Close()
	assert.Must(t, assert.ErrorOf(io.WriteString(refused, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")))
	text, err := io.ReadAll(refused)
	assert.True(t, err == nil && strings.HasPrefix(string(text), "HTTP/1.1 403 "), "who is refused is not sent away: %q, %v", text, err)
}
