package server

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"
)

// check is one of the things by which the node is healthy.
type check struct {
	name string
	err  func() error
}

// health answers /healthz and what is below it.
type health struct {
	checks []check
	log    *slog.Logger
}

// AddHealth adds /healthz with the kubelet's checks: ping and log are there because it has
// them, syncloop is healthy.
func AddHealth(mux *http.ServeMux, healthy func() error, log *slog.Logger) {
	fine := func() error { return nil }
	h := health{checks: []check{{"ping", fine}, {"log", fine}, {"syncloop", healthy}}, log: log}
	mux.HandleFunc("/healthz", h.healthz)
	for _, c := range h.checks {
		mux.HandleFunc("/healthz/"+c.name, func(w http.ResponseWriter, _ *http.Request) {
			if err := c.err(); err != nil {
				http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
				return
			}
			refuse(w, http.StatusOK, "ok")
		})
	}
}

// healthz answers ok, or with verbose or a failure what each check says. Why one
// fails is for those who may read the log.
func (h health) healthz(w http.ResponseWriter, r *http.Request) {
	excluded := r.URL.Query()["exclude"]
	var text strings.Builder
	failed := false
	unknown := slices.Clone(excluded)
	for _, c := range h.checks {
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == c.name })
		if slices.Contains(excluded, c.name) {
			fmt.Fprintf(&text, "[+]%s excluded: ok\n", c.name)
			continue
		}
		if err := c.err(); err != nil {
			h.log.Warn("the node is not healthy", "check", c.name, "err", err)
			fmt.Fprintf(&text, "[-]%s failed: reason withheld\n", c.name)
			failed = true
			continue
		}
		fmt.Fprintf(&text, "[+]%s ok\n", c.name)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		fmt.Fprintf(&text, "warn: some health checks cannot be excluded: no matches for %q\n", strings.Join(slices.Compact(unknown), `","`))
	}
	switch {
	case failed:
		http.Error(w, text.String()+"healthz check failed", http.StatusInternalServerError)
	case r.URL.Query().Has("verbose"):
		refuse(w, http.StatusOK, text.String()+"healthz check passed\n")
	default:
		refuse(w, http.StatusOK, "ok")
	}
}

// The pages of KEP-4827 and KEP-4828, as text; no program may read them.
const warning = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n"

// flagz answers the flags that the command was started with.
func (s *Server) flagz(w http.ResponseWriter, r *http.Request) {
	if !takesText(w, r) {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\nkubelet flagz\n%s\n", warning)
	for _, name := range slices.Sorted(maps.Keys(s.About.Flags)) {
		fmt.Fprintf(&text, "%s=%s\n", name, s.About.Flags[name])
	}
	refuse(w, http.StatusOK, text.String())
}

// statusz answers what runs here, and since when.
func (s *Server) statusz(w http.ResponseWriter, r *http.Request) {
	if !takesText(w, r) {
		return
	}
	const paths = "/configz /debug/pprof/ /flagz /healthz /logs/ /metrics /metrics/cadvisor /metrics/probes /metrics/resource /pods /stats/summary /statusz"
	refuse(w, http.StatusOK, fmt.Sprintf("\nkubelet statusz\n%s\nStarted: %s\nUp: %s\nGo version: %s\nBinary version: lifepod %s\nPaths: %s\n",
		warning, s.About.begun.Format(time.UnixDate), time.Since(s.About.begun).Truncate(time.Second), runtime.Version(), s.About.Version, paths))
}

// takesText refuses who wants another form than text.
func takesText(w http.ResponseWriter, r *http.Request) bool {
	accept := r.Header.Get("Accept")
	if accept == "" || strings.Contains(accept, "text/plain") || strings.Contains(accept, "text/*") || strings.Contains(accept, "*/*") {
		return true
	}
	refuse(w, http.StatusNotAcceptable, "only text/plain is served here")
	return false
}
