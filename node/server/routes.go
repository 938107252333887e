package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
)

// routes are all paths, for those who have been let in.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	s.addFigures(mux)
	if s.Controller != nil {
		mux.Handle("POST /"+csi.Controller_ServiceDesc.ServiceName+"/", s.Controller)
	}
	if !on(s.Kubelet.EnableDebuggingHandlers) {
		addDisabled(mux)
		return s.otherwise(mux)
	}
	for _, method := range []string{"GET", "POST"} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{uid}/{container}", s.exec)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{container}", s.attach)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{uid}/{container}", s.attach)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", s.portForward)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}/{uid}", s.portForward)
	}
	mux.HandleFunc("POST /run/{namespace}/{pod}/{container}", s.run)
	mux.HandleFunc("POST /run/{namespace}/{pod}/{uid}/{container}", s.run)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.containerLogs)
	mux.HandleFunc("GET /runningpods/{$}", s.runningPods)
	mux.HandleFunc("GET /runningpods", s.runningPods)
	mux.HandleFunc("GET /configz", s.configz)
	mux.HandleFunc("GET /flagz", s.flagz)
	mux.HandleFunc("GET /statusz", s.statusz)
	s.addCheckpoint(mux)
	journal := s.journal()
	mux.Handle("GET "+remote.Path, journal)
	mux.Handle("GET "+remote.Path+"/", journal)
	if on(s.Kubelet.EnableSystemLogHandler) {
		query := s.Kubelet.EnableSystemLogQuery
		mux.Handle("GET /logs/", SystemLogHandler(SystemLogFolder, query != nil && *query))
	} else {
		mux.HandleFunc("/logs/", disabled("logs endpoint is disabled."))
	}
	s.addProfiling(mux)
	mux.HandleFunc("/debug/flags/v", disabled("flags endpoint is disabled."))
	return s.otherwise(mux)
}

// journal answers what happened to pods.
func (s *Server) journal() http.Handler {
	if s.Folders.Journal == "" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, "this node keeps no journal of its pods")
		})
	}
	return remote.Handler(journal.Folder{Dir: s.Folders.Journal})
}

// readOnlyRoutes are the paths of readOnlyPort, which asks nobody who he is.
func (s *Server) readOnlyRoutes() http.Handler {
	mux := http.NewServeMux()
	s.addFigures(mux)
	addDisabled(mux)
	return s.otherwise(mux)
}

// addFigures adds what both ports have.
func (s *Server) addFigures(mux *http.ServeMux) {
	AddHealth(mux, s.Node.Healthy, s.Log)
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /pods/{$}", s.pods)
	for path, handler := range map[string]http.Handler{
		"/metrics": s.Figures.Metrics, "/metrics/cadvisor": s.Figures.CAdvisor, "/metrics/resource": s.Figures.Resource,
		"/metrics/probes": s.Figures.Probes, "/metrics/slis": s.Figures.SLIs, "GET /stats/summary": s.Figures.Summary,
	} {
		if handler == nil {
			handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				refuse(w, http.StatusNotImplemented, "lifepod does not serve "+r.URL.Path)
			})
		}
		mux.Handle(path, handler)
	}
	if s.Figures.ResourceOf != nil {
		mux.Handle("GET /metrics/resource/{node}", s.Figures.ResourceOf)
	}
}

func addDisabled(mux *http.ServeMux) {
	for _, path := range []string{
		"/run/", "/exec/", "/attach/", "/portForward/", "/containerLogs/", "/runningpods/", "/debug/pprof/", "/logs/",
	} {
		mux.HandleFunc(path, disabled("Debug endpoints are disabled."))
	}
}

func (s *Server) addProfiling(mux *http.ServeMux) {
	const base = "/debug/pprof/"
	if !on(s.Kubelet.EnableProfilingHandler) {
		mux.HandleFunc(base, disabled("profiling endpoint is disabled."))
		return
	}
	mux.HandleFunc("GET "+base, pprof.Index)
	mux.HandleFunc("GET "+base+"profile", pprof.Profile)
	mux.HandleFunc("GET "+base+"symbol", pprof.Symbol)
	mux.HandleFunc("GET "+base+"cmdline", pprof.Cmdline)
	mux.HandleFunc("GET "+base+"trace", pprof.Trace)
	if s.Kubelet.EnableContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
}

// otherwise answers what no route has in the words of the kubelet.
func (s *Server) otherwise(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := *r
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			probe.Method = method
			if _, pattern := mux.Handler(&probe); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			refuse(w, http.StatusNotFound, "404: Page Not Found")
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuse(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	})
}

func disabled(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, http.StatusMethodNotAllowed) }
}

// refuse answers an error as the kubelet does: its text, no newline.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = fmt.Fprint(w, text) // a client that has gone needs no answer
}

// on is a switch that is on unless it is turned off.
func on(b *bool) bool { return b == nil || *b }

// below says whether a path is one of parent's, or parent itself.
func below(path, parent string) bool {
	rest, found := strings.CutPrefix(path, parent)
	return found && (rest == "" || rest[0] == '/')
}
