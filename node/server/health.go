package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
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
