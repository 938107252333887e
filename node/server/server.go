package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/connlimit"
)

const (
	headerTimeout = 10 * time.Second
	keepAlive     = 90 * time.Second // an idle connection between two requests, as the kubelet has it
	maxHeader     = 1 << 20          // bytes
	// filesShare is the part of the process's files that clients may have, one in so many.
	filesShare = 8
	// lastWords is how long answers under way may take when the server ends: a
	// client that does not read must not hold up the end of the node.
	lastWords = 2 * time.Second
	lastByte  = 50 * time.Millisecond // for an answer to reach the client, once it is given
)

// Node is what the server asks of the node. Pods are never changed by either side.
type Node interface {
	// Pods are all that the sources want, each with its current status; static
	// pods themselves, not their mirror pods.
	Pods() []*v1.Pod
	// Pod finds one of them; a mirror pod's name finds its static pod.
	Pod(namespace, name string) (*v1.Pod, bool)
	// PodByUID finds one of them; a mirror pod's UID finds its static pod.
	PodByUID(uid types.UID) (*v1.Pod, bool)
	// Complete is closed when the node knows all its pods: who asks before for one that is not known waits.
	// nil: it knows them.
	Complete() <-chan struct{}
	// Healthy is why the node does not go on with its pods, nil if it does.
	Healthy() error
	Logs
}

// Runtime is what the server asks of the container runtime.
type Runtime interface {
	Exec(ctx context.Context, in *runtimeapi.ExecRequest, opts ...grpc.CallOption) (*runtimeapi.ExecResponse, error)
	ExecSync(ctx context.Context, in *runtimeapi.ExecSyncRequest, opts ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error)
	Attach(ctx context.Context, in *runtimeapi.AttachRequest, opts ...grpc.CallOption) (*runtimeapi.AttachResponse, error)
	PortForward(ctx context.Context, in *runtimeapi.PortForwardRequest, opts ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error)
	ListPodSandbox(ctx context.Context, in *runtimeapi.ListPodSandboxRequest, opts ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error)
	ListContainers(ctx context.Context, in *runtimeapi.ListContainersRequest, opts ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error)
	CheckpointContainer(ctx context.Context, in *runtimeapi.CheckpointContainerRequest, opts ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error)
}

// Figures answer what is measured; one that is nil is refused by name.
type Figures struct {
	Metrics  http.Handler // /metrics
	CAdvisor http.Handler // /metrics/cadvisor
	Resource http.Handler // /metrics/resource
	// ResourceOf is /metrics/resource/{node}, if the server is that of several nodes.
	ResourceOf http.Handler
	Probes     http.Handler // /metrics/probes
	SLIs       http.Handler // /metrics/slis
	Summary    http.Handler // /stats/summary
	// Count counts the requests of a handler; serverType is readwrite or readonly,
	// as in the kubelet's metrics. nil: nobody counts.
	Count func(serverType string, next http.Handler) http.Handler
	// Trace makes spans of the requests that are let in, or that everybody may make of a
	// public handler (A-TRC-4); nil: nothing is traced.
	Trace func(public bool, next http.Handler) http.Handler
}

// About is what the program says of itself.
type About struct {
	Flags   map[string]string // the command's, for /flagz
	Version string            // of lifepod, for /statusz
	begun   time.Time         // set by New
}

// Folders are what the server has on disk, or reads there.
type Folders struct {
	Checkpoints string // files with the state of containers
	Journal     string // what happened to pods (package journal); empty: there is none
}

// Config is what a server needs. It isn't changed once the server is made.
type Config struct {
	Access  Access
	Kubelet *kubeletconfig.KubeletConfiguration // with its defaults
	Client  kubernetes.Interface                // reviews tokens and access; nil without an API server
	TLS     *tls.Config                         // with the serving certificate
	Node    Node
	Changes *Changes
	Runtime Runtime
	Figures Figures
	Folders Folders
	// Controller serves the calls of a CSI driver's controller; nil: there is none here.
	Controller http.Handler
	Peers      Peers // nil: other nodes are not served
	About      About // the program
	Log        *slog.Logger
}

// Access is who may ask for what, beside what the configuration says of that.
type Access struct {
	NodeName string
	// NodeOf is the node that a pod is on, if the server is that of several nodes: who asks about a pod
	// has to be allowed that on its node, and who asks for anything else on all nodes. Empty: there is
	// no such pod. nil: the server is that of NodeName.
	NodeOf func(namespace, pod string) string
	// ClientCA has the authorities whose client certificates count; nil: those of authentication.x509.clientCAFile.
	ClientCA func() (x509.VerifyOptions, bool)
}

// Server serves the node's API.
type Server struct {
	Config
	guard     *guard
	listeners []*listener // the secure one first
	requests  requests
	reads     logReads
}

// New checks the configuration; Listen and Serve follow.
func New(c Config) (*Server, error) {
	g, err := newGuard(&c)
	if err != nil {
		return nil, fmt.Errorf("node API: %w", err)
	}
	c.About.begun = time.Now()
	return &Server{Config: c, guard: g}, nil
}

// Listen takes the ports of the configuration, so that one that is in use is an
// error at the start. Serve closes them.
func (s *Server) Listen() error {
	for _, port := range []int32{s.Kubelet.Port, s.Kubelet.ReadOnlyPort} {
		if port == 0 && len(s.listeners) > 0 {
			continue // no read-only port
		}
		address := net.JoinHostPort(s.Kubelet.Address, strconv.Itoa(int(port)))
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, l := range s.listeners {
				_ = l.Close() // nobody was served
			}
			return fmt.Errorf("node API: %w", err)
		}
		s.Log.Info("the node's API listens", "address", l.Addr().String())
		idle := s.Kubelet.StreamingConnectionIdleTimeout.Duration
		s.listeners = append(s.listeners, &listener{Listener: connlimit.New(l, connlimit.Share(filesShare)), idle: idle, open: map[*conn]struct{}{}})
	}
	return nil
}

// Addr is where the server listens, after Listen.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Serve serves until ctx ends, after Listen. Connections end with it, whatever
// their clients do.
func (s *Server) Serve(ctx context.Context) error {
	tlsConfig := s.TLS.Clone()
	if tlsConfig.ClientAuth < tls.RequestClientCert {
		tlsConfig.ClientAuth = tls.RequestClientCert // who it is the guard finds out
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	servers := []*http.Server{s.server(ctx, s.counted("readwrite", s.orPeers(s.guard.protect(s.listeners[0].Admitting(s.traced(false, s.routes()))))), tlsConfig)}
	if len(s.listeners) > 1 {
		servers = append(servers, s.server(ctx, s.counted("readonly", s.listeners[1].Admitting(s.traced(true, s.readOnlyRoutes()))), nil))
	}
	failed := make(chan error, len(servers))
	var served sync.WaitGroup
	for i, server := range servers {
		served.Go(func() {
			if err := serve(server, s.listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve the node API on %s: %w", s.listeners[i].Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	s.end(servers)
	served.Wait()
	return err
}

func (s *Server) counted(serverType string, next http.Handler) http.Handler {
	if s.Figures.Count == nil {
		return next
	}
	return s.Figures.Count(serverType, next)
}

func (s *Server) traced(public bool, next http.Handler) http.Handler {
	if s.Figures.Trace == nil {
		return next
	}
	return s.Figures.Trace(public, next)
}

func serve(server *http.Server, l net.Listener) error {
	if server.TLSConfig == nil {
		return server.Serve(l)
	}
	return server.ServeTLS(l, "", "")
}

// end gives answers under way a moment and then closes all connections.
func (s *Server) end(servers []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	over := s.requests.end()
	go func() {
		select {
		case <-over:
			time.Sleep(lastByte)
			cancel()
		case <-ctx.Done():
		}
	}()
	for _, server := range servers {
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // somebody does not read, or keeps an HTTP/2 connection
		}
	}
	select { // sessions say why they end
	case <-over:
	case <-ctx.Done():
	}
	for _, l := range s.listeners {
		l.closeAll()
	}
	select {
	case <-over:
	case <-ctx.Done(): // a log is being read to its end
	}
}

func (s *Server) server(ctx context.Context, handler http.Handler, tlsConfig *tls.Config) *http.Server {
	return &http.Server{
		Handler:           s.requests.counted(handler),
		TLSConfig:         tlsConfig,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withConn,
		ConnState:         watchHijacked,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}
