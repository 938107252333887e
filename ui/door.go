package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/url"
	"sync"
)

// cookieName is the cookie's name. Several servers of one host share it: each has a path of its own.
const cookieName = "lifepod-ui"

// door lets in who has a link. The page is below a path of its own, which nobody can guess, so that
// a browser does not send the cookie to other servers on this machine: a cookie knows no ports.
type door struct {
	path   string // "/<random>/"
	cookie string

	mu    sync.Mutex
	token string // of the link that works; empty: it was used
}

func newDoor() *door { return &door{path: "/" + rand.Text() + "/", cookie: rand.Text()} }

// link makes a link that works once; the one before doesn't any more.
func (d *door) link(address string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token = rand.Text()
	return (&url.URL{Scheme: "http", Host: address, Path: "/", RawQuery: url.Values{"token": {d.token}}.Encode()}).String()
}

// take says whether it is the token of the link, which then is used.
func (d *door) take(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == "" || !equal(token, d.token) {
		return false
	}
	d.token = ""
	return true
}

// enter gives who comes by the link a cookie, and sends them to the page.
func (d *door) enter(w http.ResponseWriter, r *http.Request) {
	if !d.take(r.URL.Query().Get("token")) {
		refuse(w)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over loopback there is no TLS, so not Secure
		Name: cookieName, Value: d.cookie, Path: d.path, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, d.path, http.StatusSeeOther)
}

// refuse sends away who has neither link nor cookie.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	http.Error(w, "This page needs the link that lifepod has printed, which works once.", http.StatusForbidden)
}

// knows says whether a request has the cookie.
func (d *door) knows(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName)
	return err == nil && equal(cookie.Value, d.cookie)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
