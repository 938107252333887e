// Package etcd keeps the state of a cluster: an etcd server with one member in this
// process, which only this machine's root reaches, by a unix socket.
//
// While its disk has little space it refuses writes, as etcd does by itself when its
// database has reached its quota, and takes them again when there is space (see
// guard). What is fatal to etcd, such as a disk without any space at all, does not
// end the process but is told by Err.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

type Config struct {
	Dir    string // of the data; made with mode 0700
	RunDir string // of the socket; its path has at most 100 bytes
	Log    *slog.Logger

	low, enough int64 // lowSpace and enoughSpace
	quota       int64
}

// Server is a running etcd.
type Server struct {
	config   Config
	embedded *embed.Etcd

	failure chan error    // has one when etcd can't go on
	broken  atomic.Bool   // it has had one
	ended   chan struct{} // closed to end guard
	guarded chan struct{} // closed when it has ended
}

// What a member that is made of a backup must be called.
const (
	Member  = "lifepod"
	PeerURL = "http://localhost:2380" // nobody looks for it there
	Token   = "etcd-cluster"
)

// Endpoint is where clients find the etcd of a run folder.
func Endpoint(runDir string) string { return "unix://" + socket(runDir) }

func socket(runDir string) string { return filepath.Join(runDir, "etcd.sock") }

// The only member need not wait long for others to stand for election.
const (
	tick     = 50 * time.Millisecond
	election = 250 * time.Millisecond
)

// quota is how much etcd may hold, in bytes, before it refuses writes: etcd's own
// suggestion for the most.
const quota = 8 << 30

// readBuffer is what each connection has to read into, in bytes. The API server has a
// connection for each of its 85 resources, most of which rest: with gRPC's 32 KiB each, to
// read and to write, they would take 5 MiB. A larger request is read past the buffer.
const readBuffer = 4 << 10

// Start starts the server, when there is space on its disk; [Server.AwaitReady] says
// when it serves.
func Start(ctx context.Context, c Config) (*Server, error) {
	c.low, c.enough, c.quota = cmp.Or(c.low, lowSpace), cmp.Or(c.enough, enoughSpace), cmp.Or(c.quota, quota)
	if err := errors.Join(rootfolder.Ensure(c.Dir, 0o700), rootfolder.EnsureRun(c.RunDir)); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	if err := c.awaitSpace(ctx); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	s := &Server{config: c, failure: make(chan error, 1), ended: make(chan struct{}), guarded: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	go s.guard()
	return s, nil
}

func (s *Server) start() error {
	config, err := s.configuration()
	if err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() { // which ends where etcd would end the process
		var err error
		s.embedded, err = embed.StartEtcd(config)
		started <- err
	}()
	select {
	case err = <-started:
	case err = <-s.failure:
	}
	if err != nil {
		return err
	}
	return os.Chmod(socket(s.config.RunDir), 0o600) // whatever the umask is
}

// AwaitReady returns when the server serves; clients may connect before, and wait.
func (s *Server) AwaitReady(ctx context.Context) error {
	var err error
	select {
	case <-s.embedded.Server.ReadyNotify():
		return nil
	case err = <-s.embedded.Err():
	case err = <-s.failure:
	case <-s.embedded.Server.StopNotify():
		err = errStopped
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return fmt.Errorf("start etcd: %w", err)
}

var errStopped = errors.New("it stopped")

func (s *Server) configuration() (*embed.Config, error) {
	peer, err := url.Parse(PeerURL)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Name, config.Dir, config.InitialClusterToken = Member, s.config.Dir, Token
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket(s.config.RunDir)}}
	// Nobody looks for it there, but etcd wants to know where one would.
	config.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}}
	config.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(s.config.RunDir, "peer.sock")}}
	config.AdvertisePeerUrls = []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.TickMs, config.ElectionMs = uint(tick.Milliseconds()), uint(election.Milliseconds())
	config.InitialElectionTickAdvance = true
	config.QuotaBackendBytes = s.config.quota
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(s.config.Log, s.ended, s.failed))
	config.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ReadBufferSize(readBuffer)}
	config.AutoCompactionMode, config.AutoCompactionRetention = embed.CompactorModePeriodic, "0" // the API server compacts
	return config, nil
}

// failed takes what etcd would have ended the process for; the first counts.
func (s *Server) failed(err error) {
	if s.broken.Swap(true) {
		return
	}
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("the disk of %s is full: %w", s.config.Dir, err)
	}
	s.failure <- fmt.Errorf("etcd can't go on: %w", err)
}

// Endpoint is where clients find it.
func (s *Server) Endpoint() string { return Endpoint(s.config.RunDir) }

// Run returns when the server does not serve any more, or nil when ctx ends.
func (s *Server) Run(ctx context.Context) error {
	select {
	case err := <-s.failure:
		return err
	case err := <-s.embedded.Err():
		return err
	case <-s.embedded.Server.StopNotify():
		return errStopped
	case <-ctx.Done():
		return nil
	}
}

// How long a server may take to stop. One that has failed may never do so: what
// waits for the goroutine that failed waits for ever, and the process has to end.
const (
	closeTimeout  = 10 * time.Second
	failedTimeout = time.Second
)

// Close stops the server when what it has acknowledged is on disk. After a failure
// another can be started in another process only.
func (s *Server) Close() {
	close(s.ended)
	<-s.guarded
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.embedded.Close()
	}()
	timeout := closeTimeout
	if s.broken.Load() {
		timeout = failedTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
		s.config.Log.Warn("etcd does not stop; what it has acknowledged is on disk")
	}
}
