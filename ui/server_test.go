package ui

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
)

// serve serves a page without pods of this machine; it is what asks it without following anything.
func serve(t *testing.T, cluster *Cluster) (*Server, *http.Client) {
	t.Helper()
	folder := t.TempDir()
	s := assert.Get(Listen(Config{
		Pods: client.New(folder, folder), Journal: journal.Folder{Dir: folder}, Cluster: cluster, Log: slog.New(slog.DiscardHandler),
	}, AnyPort)).Must(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		s.Close()
		assert.NoError(t, <-served)
	})
	return s, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask sends a request with headers NAME: VALUE, and returns its answer.
func ask(t *testing.T, c *http.Client, method, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	r := assert.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))).Must(t)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	answer := assert.Get(c.Do(r)).Must(t)
	defer func() { _ = answer.Body.Close() }()
	text := assert.Get(io.ReadAll(answer.Body)).Must(t)
	return answer, string(text)
}

// TestLinkWorksOnce: the link gives one browser a cookie that no script reads and no other page sends; who
// has only the address of the page gets nothing, nor who comes with the link again.
func TestLinkWorksOnce(t *testing.T) {
	s, c := serve(t, nil)
	old, link := s.Link(), s.Link()
	base := strings.TrimSuffix(strings.Split(link, "?")[0], "/")
	for _, url := range []string{base + "/", base + "/?token=", base + "/?token=guess", old} {
		answer, _ := ask(t, c, http.MethodGet, url)
		assert.True(t, answer.StatusCode == http.StatusForbidden && len(answer.Cookies()) == 0, "%s: %s, cookies %v", url, answer.Status, answer.Cookies())
	}
	entered, _ := ask(t, c, http.MethodGet, link)
	assert.Require(t, entered.StatusCode == http.StatusSeeOther && len(entered.Cookies()) == 1, "%s, cookies %v", entered.Status, entered.Cookies())
	cookie, page := entered.Cookies()[0], entered.Header.Get("Location")
	assert.True(t, cookie.HttpOnly && cookie.SameSite == http.SameSiteStrictMode && cookie.Path == page && len(page) >= 20, "cookie %v for %s", cookie, page)
	if answer, _ := ask(t, c, http.MethodGet, link); answer.StatusCode != http.StatusForbidden {
		t.Errorf("the link a second time: %s", answer.Status)
	}
	for _, path := range []string{page, page + "app.js", page + "api/live", page + "api/rules/A-BO-3"} {
		answer, text := ask(t, c, http.MethodGet, base+path)
		assert.True(t, answer.StatusCode == http.StatusForbidden && !strings.Contains(text, "<"), "%s without the cookie: %s", path, answer.Status)
	}
	answer, text := ask(t, c, http.MethodGet, base+page, "Cookie: "+cookie.Name+"="+cookie.Value)
	assert.True(t, answer.StatusCode == http.StatusOK && strings.Contains(text, "<!DOCTYPE html>"), "with the cookie: %s", answer.Status)
	if strings.Contains(text, "<style") || strings.Contains(text, "<script>") || strings.Contains(text, "http:") || strings.Contains(text, "https:") {
		t.Error("the page has inline code, or something from elsewhere")
	}
}

// TestHeaders: every answer, refusals as well, forbids what the page does not need.
func TestHeaders(t *testing.T) {
	s, c := serve(t, nil)
	base, _, _ := strings.Cut(s.Link(), "?")
	for _, url := range []string{base, base + "elsewhere"} {
		answer, _ := ask(t, c, http.MethodGet, url)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
			assert.Equal(t, want, answer.Header.Get(name), "%s: %s is", url, name)
		}
		policy := answer.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "trusted-types 'none'"} {
			assert.True(t, strings.Contains(policy, want), "%s: no %s in %s", url, want, policy)
		}
		assert.True(t, !strings.Contains(policy, "unsafe"), "%s", policy)
	}
}

// TestForeignPages: with the cookie, too, requests of other pages are refused: of another host that has
// this machine's address, of another port, and what changes something without an Origin.
func TestForeignPages(t *testing.T) {
	s, c := serve(t, nil)
	link := s.Link()
	base := strings.TrimSuffix(strings.Split(link, "?")[0], "/")
	host := strings.TrimPrefix(base, "http://")
	entered, _ := ask(t, c, http.MethodGet, link)
	page, cookie := base+entered.Header.Get("Location"), "Cookie: "+entered.Cookies()[0].Name+"="+entered.Cookies()[0].Value
	stop := page + "api/pods/u/stop"
	upgrade := []string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}
	for _, tc := range []struct {
		what, method, url string
		headers           []string
		want              int
	}{
		{"another name", http.MethodGet, page, []string{"Host: evil.example"}, http.StatusMisdirectedRequest},
		{"a name like an address", http.MethodGet, page, []string{"Host: 127.0.0.1.evil.example"}, http.StatusMisdirectedRequest},
		{"an address of another machine", http.MethodGet, page, []string{"Host: 192.0.2.1"}, http.StatusMisdirectedRequest},
		{"a forwarded port", http.MethodGet, page, []string{"Host: localhost:8080"}, http.StatusOK},
		{"a page on another port that reads", http.MethodGet, page + "api/rules/A-BO-3", []string{"Sec-Fetch-Site: same-site"}, http.StatusForbidden},
		{"another page that reads", http.MethodGet, page + "api/rules/A-BO-3", []string{"Sec-Fetch-Site: cross-site"}, http.StatusForbidden},
		{"the page that reads", http.MethodGet, page + "api/rules/A-BO-3", []string{"Sec-Fetch-Site: same-origin"}, http.StatusOK},
		{"no origin", http.MethodPost, stop, []string{"Content-Type: application/json"}, http.StatusForbidden},
		{"another port", http.MethodPost, stop, []string{"Content-Type: application/json", "Origin: http://127.0.0.1:1"}, http.StatusForbidden},
		{"no origin at all", http.MethodPost, stop, []string{"Content-Type: application/json", "Origin: null"}, http.StatusForbidden},
		{"a form", http.MethodPost, stop, []string{"Content-Type: text/plain", "Origin: http://" + host}, http.StatusConflict},
		{"the page itself, of no pod", http.MethodPost, stop, []string{"Content-Type: application/json", "Origin: http://" + host}, http.StatusConflict},
		{"a console of another page", http.MethodGet, page + "api/pods/u/exec?command=sh", append([]string{"Origin: http://evil.example"}, upgrade...), http.StatusForbidden},
		{"a console of nobody", http.MethodGet, page + "api/pods/u/exec?command=sh", upgrade, http.StatusForbidden},
	} {
		answer, text := ask(t, c, tc.method, tc.url, append(tc.headers, cookie)...)
		assert.True(t, answer.StatusCode == tc.want, "%s: %s, want %d: %s", tc.what, answer.Status, tc.want, text)
	}
}

// TestListenOnLoopbackOnly: no address that others can reach is taken.
func TestListenOnLoopbackOnly(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "only this machine can reach", ":8080": "only this machine can reach", "192.0.2.1:80": "only this machine can reach",
		"[::]:0": "only this machine can reach", "example.com:80": "only this machine can reach", "127.0.0.1": "want ADDRESS:PORT",
	} {
		s, err := Listen(Config{Log: slog.New(slog.DiscardHandler)}, address)
		if err == nil {
			s.Close()
		}
		assert.ErrorContains(t, want, err, address)
	}
}

// TestSlowWatcher: who is slow gets the newest only, and holds nobody up.
func TestSlowWatcher(t *testing.T) {
	l := newLooker(nil)
	l.stop = func() {} // nothing looks
	slow, end := l.watch()
	defer end()
	for _, text := range []string{"1", "2", "3"} {
		l.tell(t.Context(), []byte(text))
	}
	assert.Equal(t, "3", string(<-slow), "the slow one got")
}

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
