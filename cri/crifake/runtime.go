package crifake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// Runtime is the pretended runtime. Make it with New; its methods may be called
// from several goroutines.
type Runtime struct {
	runtimeapi.RuntimeServiceClient // nil: what is not implemented here panics
	runtimeapi.ImageServiceClient

	mu         sync.Mutex // guards all that follows
	faults     []*fault
	play       *play                        // nil: faults, programs and commands say what happens
	dice       *rand.Rand                   // nil without a play
	programs   map[string][]program         // by container, or pod/container
	commands   map[string][]command         // likewise
	sandboxes  map[string]*sandbox          // by ID
	ofPod      map[string][]*sandbox        // by the pod's UID, in the order of their creation
	containers map[string]*container        // by ID
	reserved   map[string]string            // the id that has a sandbox's or container's name
	images     map[string]*runtimeapi.Image // by name and by ID
	disk       *Disk                        // nil: without end
	imagesAt   string                       // empty: DiskPath
	streams    map[*stream]bool
	calls      []Call
	downUntil  time.Time
	down       chan struct{} // closed when the runtime goes down
	lastID     int
	doubled    []string
	memory     uint64 // that each container uses
	changed    mailbox.Signal
}

// New is a runtime that has the named images.
func New(images ...string) *Runtime {
	r := &Runtime{
		ofPod:     map[string][]*sandbox{},
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{},
		programs: map[string][]program{},
		commands: map[string][]command{},
		reserved: map[string]string{},
		images:   map[string]*runtimeapi.Image{},
		streams:  map[*stream]bool{},
		down:     make(chan struct{}),
		changed:  mailbox.NewSignal(),
	}
	for _, name := range images {
		r.addImage(name)
	}
	return r
}

// Call is one call that was made.
type Call struct {
	At      time.Time
	Took    time.Duration // until its answer; 0 while it is under way
	RPC     string
	Subject string // pod, pod/container or image
	Detail  string // attempt=1, timeout=30
	Err     error
}

func (c Call) String() string {
	return strings.TrimSpace(c.RPC + " " + c.Subject + " " + c.Detail)
}

// took is how long calls take, as measured on a real runtime; those that are
// not listed, a millisecond.
var took = map[string]time.Duration{
	"RunPodSandbox":    90 * time.Millisecond,
	"CreateContainer":  4 * time.Millisecond,
	"StartContainer":   40 * time.Millisecond,
	"StopContainer":    38 * time.Millisecond,
	"RemoveContainer":  2 * time.Millisecond,
	"StopPodSandbox":   100 * time.Millisecond,
	"RemovePodSandbox": 14 * time.Millisecond,
	"PullImage":        2 * time.Second,
}

// Took is how long a call takes on its own.
func Took(rpc string) time.Duration {
	if d, ok := took[rpc]; ok {
		return d
	}
	return time.Millisecond
}

// Calls are those made so far, in the order in which they began.
func (r *Runtime) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Acted are the calls that change something, as text.
func (r *Runtime) Acted() []string {
	var list []string
	for _, c := range r.Calls() {
		if !strings.HasPrefix(c.RPC, "List") && !strings.HasSuffix(c.RPC, "Status") && c.RPC != "GetContainerEvents" {
			list = append(list, c.String())
		}
	}
	return list
}

// Doubled are the moments at which two instances of one container ran.
func (r *Runtime) Doubled() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.doubled)
}

// Left is all that the runtime has, as text: sandboxes and containers.
func (r *Runtime) Left() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, s := range r.sandboxesFor(nil) {
		list = append(list, fmt.Sprintf("sandbox %s attempt=%d %s", s.config.Metadata.Name, s.config.Metadata.Attempt, s.stateText()))
	}
	for _, c := range r.containersFor(nil) {
		list = append(list, fmt.Sprintf("%s attempt=%d %s", c.subject().text, c.config.Metadata.Attempt, c.stateText()))
	}
	return list
}

// Changed has a value after something has changed since it was last received.
func (r *Runtime) Changed() <-chan struct{} { return r.changed }

// GoDown makes the runtime unreachable for d: calls under way lose their answer,
// new ones are refused, streams break, and events of that time are lost.
// Containers live on.
func (r *Runtime) GoDown(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.down)
	r.down = make(chan struct{})
	r.downUntil = time.Now().Add(d)
	r.endStreams(errBroken)
}

var (
	errRefused = status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial unix /run/fake.sock: connect: connection refused\"")
	errBroken  = status.Error(codes.Unavailable, "error reading from server: EOF")
)

func (r *Runtime) isDown() bool { return time.Now().Before(r.downUntil) }

func (r *Runtime) newID(name string) string {
	r.lastID++
	return fmt.Sprintf("%s-%d", name, r.lastID)
}

// Version answers who this is.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest, ...callOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "crifake", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}
