package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/connlimit"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// healthPeriod is the pause between two looks at what the node depends on.
const healthPeriod = 30 * time.Second

// relistThreshold is for how long the runtime may not list what it has before the node is
// not Ready (A-PLEG-1).
const relistThreshold = 3 * time.Minute

// health knows whether what the node depends on works: the runtime and the disk of
// its state. They are asked one after the other, so that a question about health never waits.
type health struct {
	runtime runtimeapi.RuntimeServiceClient
	dir     string // of the state

	mu     sync.Mutex
	listed time.Time            // when the runtime listed what it has; before the first time, the start
	asks   map[string]time.Time // what is asked and has not answered yet, since when
	broken map[string]failing
}

// failing is what does not work.
type failing struct {
	since time.Time
	err   error
}

func newHealth(runtime runtimeapi.RuntimeServiceClient, dir string) *health {
	return &health{runtime: runtime, dir: dir, listed: time.Now(), asks: map[string]time.Time{}, broken: map[string]failing{}}
}

func (h *health) run(ctx context.Context) {
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	for {
		h.ask("container runtime", func() error { return h.list(ctx) })
		h.ask("state folder", func() error { return host.Writable(h.dir) })
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// list has the runtime list all that it has: one that hangs may well tell its version.
func (h *health) list(ctx context.Context) error {
	if _, err := cri.Overlook(ctx, h.runtime); err != nil {
		return errors.New(cri.Text(err))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed = time.Now()
	return nil
}

// notReady is why the node is not Ready because of the runtime's lists, in the kubelet's
// words, nil if it is (A-PLEG-1). It counts minutes, as each other text is written to the
// API server.
func (h *health) notReady() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if since := time.Since(h.listed).Truncate(time.Minute); since >= relistThreshold {
		return fmt.Errorf("PLEG is not healthy: pleg was last seen active %v ago; threshold is %v", since, relistThreshold)
	}
	return nil
}

// ask asks a question beside, unless its last one was not answered yet.
func (h *health) ask(what string, question func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.asks[what].IsZero() {
		return
	}
	h.asks[what] = time.Now()
	go func() { // it may hang for ever: nobody waits for it
		err := question()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.asks, what)
		switch before, failed := h.broken[what]; {
		case err == nil:
			delete(h.broken, what)
		case failed:
			h.broken[what] = failing{since: before.since, err: err}
		default:
			h.broken[what] = failing{since: time.Now(), err: err}
		}
	}()
}

// err is why the node is not healthy, nil if it is. A disk that can't be written
// counts at once, a runtime may be away for a while: it may be being restarted.
func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, failed := h.broken["state folder"]; failed {
		return fmt.Errorf("the state of pods can't be saved: %w", f.err)
	}
	for what, since := range h.asks {
		if silent := time.Since(since); silent >= pods.Standstill {
			return fmt.Errorf("the %s has not answered for %s", what, silent.Round(time.Second))
		}
	}
	if f, failed := h.broken["container runtime"]; failed && time.Since(f.since) >= pods.Standstill {
		return fmt.Errorf("the container runtime has failed for %s: %w", time.Since(f.since).Round(time.Second), f.err)
	}
	return nil
}

// shown are the pods as others see them.
type shown interface {
	Pods() []*v1.Pod
	Pod(namespace, name string) (*v1.Pod, bool)
	PodByUID(uid types.UID) (*v1.Pod, bool)
	LogDir(pod *v1.Pod) string // of a pod's logs
	Healthy() error
	Views() []roster.View
	Complete() <-chan struct{}
}

// view is what the node shows of itself.
type view struct {
	shown
	health  *health
	changes *server.Changes
	figures *stats.Stats
}

// Healthy says why the node makes no progress with its pods; nil: it does.
func (v view) Healthy() error { return errors.Join(v.shown.Healthy(), v.health.err()) }

// Open opens the log of a container's instance.
func (v view) Open(pod *v1.Pod, container string, instance int, dropped func()) server.Log {
	return server.LogFiles(v.LogDir).Open(pod, container, instance, dropped)
}

// listenHealthz takes the port where the kubelet says that it lives, which kubeadm
// waits for; nil if there is none. It needs no certificate and no API server.
func (s *setup) listenHealthz() (net.Listener, error) {
	k := s.config.Kubelet
	if *k.HealthzPort == 0 || !s.options.inCluster() && !s.config.Set("healthzPort") {
		return nil, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(k.HealthzBindAddress, fmt.Sprint(*k.HealthzPort)))
	if err != nil {
		return nil, fmt.Errorf("healthz: %w: is a kubelet running? Stop it, or set healthzPort: 0", err)
	}
	return connlimit.New(l, connlimit.Share(16)), nil
}

// serveHealthz answers until ctx ends. The kubelet has only ping there; here /healthz is as
// true as that of the node's API.
func serveHealthz(ctx context.Context, l net.Listener, healthy func() error, log *slog.Logger) error {
	mux := http.NewServeMux() // nobody is admitted: what is asked takes no time
	server.AddHealth(mux, healthy, log)
	serves := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	serves.SetKeepAlivesEnabled(false)
	defer context.AfterFunc(ctx, func() { _ = serves.Close() })() // nothing is lost
	if err := serves.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("healthz: %w", err)
	}
	return nil
}
