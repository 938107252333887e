package control

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/handler"
)

// lastWords is how long a server that is closed waits for answers under way: a
// client that doesn't read must not hold up the end of lifepod.
const lastWords = 2 * time.Second

// Config is what a server needs of the pod that it serves.
type Config struct {
	Folder   string // of the sockets
	Object   *Object
	Post     func(lifecycle.Fact) // gives a fact to the pod's worker; must not block
	Runtime  runtimeapi.RuntimeServiceClient
	Commands *handler.Runner // of the pod's worker
	LogDir   string          // of the pod
	Services []v1.Service    // of the same run, whose selectors match the pod
	// WithEphemeralContainer and WithResources check and complete a change of the pod's spec,
	// as an API server does. They return a new pod, with a higher generation if the spec has
	// changed. Of requested's resources, a quantity that is not given stays as it is.
	WithEphemeralContainer func(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error)
	WithResources          func(pod, requested *v1.Pod) (*v1.Pod, error)
	// Managed says who manages the pod, and what to do instead, if changing it
	// here would only be undone; then changes are refused. Empty: it may be changed.
	Managed string
	Log     *slog.Logger
}

// Server serves one pod until it is closed.
type Server struct {
	Config
	path   string
	http   *http.Server
	served sync.WaitGroup
}

// Serve makes the pod's socket and answers on it until Close.
func Serve(c Config) (*Server, error) {
	l, path, err := listen(c.Folder, c.Object.Pod().UID)
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, path: path}
	s.http = &http.Server{
		// There may be many pods, and few ask: routes are made for those who do.
		Handler:           rootOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.routes().ServeHTTP(w, r) })),
		ConnContext:       withPeer,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	s.served.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error("control socket", "err", err)
		}
	})
	return s, nil
}

// Close removes the socket and ends the server. If the pod is gone (Object.Gone),
// answers under way are given time; else its clients see the connection break.
func (s *Server) Close() {
	defer s.served.Wait()
	unlisten(s.path)
	select {
	case <-s.Object.Done():
	default:
		_ = s.http.Close() // nothing was lost that the clients could have
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // somebody does not read
	}
}

// routes are the API, see the package comment.
func (s *Server) routes() http.Handler {
	const pod = "/v1/namespaces/{namespace}/pods/{name}"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pods", s.list)
	mux.HandleFunc("GET "+pod, s.named(s.get))
	mux.HandleFunc("DELETE "+pod, s.named(s.unmanaged(s.stop)))
	mux.HandleFunc("GET "+pod+"/events", s.named(s.listEvents))
	mux.HandleFunc("GET "+pod+"/services", s.named(s.listServices))
	mux.HandleFunc("POST "+pod+"/restart", s.named(s.restart))
	mux.HandleFunc("POST "+pod+"/ephemeralcontainers", s.named(s.unmanaged(s.addEphemeralContainer)))
	mux.HandleFunc("POST "+pod+"/resize", s.named(s.unmanaged(s.resize)))
	mux.HandleFunc("POST "+pod+"/conditions", s.named(s.unmanaged(s.setCondition)))
	mux.HandleFunc("GET "+pod+"/log", s.named(s.log))
	mux.HandleFunc("GET "+pod+"/process", s.named(s.process))
	mux.HandleFunc("POST "+pod+"/exec", s.named(s.exec))
	mux.HandleFunc("POST "+pod+"/attach", s.named(s.attach))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, notFound("there is no %s %s", r.Method, r.URL.Path))
	})
	return mux
}

// unmanaged refuses a change of a pod that is managed elsewhere, such as in a cluster.
func (s *Server) unmanaged(handle func(w http.ResponseWriter, r *http.Request) error) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.Managed != "" {
			return conflict("the pod belongs to %s", s.Managed)
		}
		return handle(w, r)
	}
}

// named lets requests for this pod pass; an error becomes the answer.
func (s *Server) named(handle func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		pod := s.Object.Pod()
		if r.PathValue("namespace") != pod.Namespace || r.PathValue("name") != pod.Name {
			fail(w, notFound("pod %s/%s is not served here", r.PathValue("namespace"), r.PathValue("name")))
			return
		}
		if s.isGone() {
			fail(w, notFound("pod %s/%s is gone", pod.Namespace, pod.Name))
			return
		}
		if err := handle(w, r); err != nil {
			fail(w, err)
		}
	}
}
