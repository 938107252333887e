package server

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"
)

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
