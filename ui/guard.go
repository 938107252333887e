package ui

import (
	"net"
	"net/http"
)

// headers go with every answer.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// guard refuses requests that the page itself would not make.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !isLoopbackHost(r.Host): // a name that somebody has made this machine's (DNS rebinding)
			http.Error(w, "unknown host", http.StatusMisdirectedRequest)
		case changes(r) && r.Header.Get("Origin") != "http://"+r.Host:
			http.Error(w, "the request comes from another page", http.StatusForbidden)
		case r.URL.Path != "/" && foreign(r.Header.Get("Sec-Fetch-Site")):
			http.Error(w, "the request comes from another page", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLoopbackHost says whether a Host is this machine by an address or a name that nobody else can
// give it. Its port may be another one, of ssh -L.
func isLoopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// changes says whether a request does more than read.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != ""
}

// foreign says whether a browser tells that a request was made by another page, on another port for one.
func foreign(site string) bool { return site != "" && site != "same-origin" && site != "none" }
