// Package source tests where desired pods come from (node/source) against a real
// API server, with the rights that a node has.
package nodeparts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
)

// sourceNode is one of the API server, and what its sources say. It is a Feed.
type sourceNode struct {
	*testing.T
	name    string
	admin   kubernetes.Interface
	client  kubernetes.Interface // with the rights of the node
	network *sourceNetwork
	mirrors *source.Mirrors
	log     *slog.Logger
	running sync.WaitGroup

	mu     sync.Mutex
	pods   map[types.UID]*v1.Pod
	heard  map[roster.Source]bool
	wrong  []string
	called chan struct{}
}

func newSourceNode(t *testing.T, name string) *sourceNode {
	t.Helper()
	n := &sourceNode{T: t, name: name, network: &sourceNetwork{}, log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		pods: map[types.UID]*v1.Pod{}, heard: map[roster.Source]bool{}, called: make(chan struct{}, 1)}
	n.client = clientOf(t, name, func(config *rest.Config) { config.Dial = n.network.dial })
	n.admin = admin(t)
	assert.Must(t, assert.ErrorOf(n.admin.CoreV1().Nodes().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})))
	assert.AtEnd(t, func() error {
		return n.admin.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	n.mirrors = &source.Mirrors{Client: n.client, NodeName: name, Log: n.log, Refused: func(pod *v1.Pod, err error) {
		n.note(func() { n.wrong = append(n.wrong, err.Error()) })
	}}
	return n
}

// run runs parts until the test ends.
func (n *sourceNode) run(parts ...func(context.Context)) {
	ctx, cancel := context.WithCancel(n.Context())
	for _, part := range parts {
		n.running.Go(func() { part(ctx) })
	}
	n.Cleanup(func() {
		cancel()
		n.running.Wait()
	})
}

func (n *sourceNode) api() *source.API {
	return &source.API{Client: n.client, NodeName: n.name, Feed: n, Mirrors: n, Log: n.log}
}

func (n *sourceNode) note(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	select {
	case n.called <- struct{}{}:
	default:
	}
}

func (n *sourceNode) Wanted(_ roster.Source, pod *v1.Pod) {
	n.note(func() { n.pods[pod.UID] = pod })
	if source.IsStatic(pod) {
		n.mirrors.Want(pod)
	}
}

func (n *sourceNode) Unwanted(origin roster.Source, uid types.UID) {
	n.note(func() {
		if n.pods[uid] == nil {
			n.wrong = append(n.wrong, fmt.Sprintf("%s doesn't want %s, which nobody wanted", origin, uid))
		}
		delete(n.pods, uid)
	})
	n.mirrors.Unwant(uid)
}

func (n *sourceNode) Heard(origin roster.Source) {
	n.note(func() {
		if n.heard[origin] {
			n.wrong = append(n.wrong, fmt.Sprintf("%s is heard twice", origin))
		}
		n.heard[origin] = true
	})
	if origin == roster.File {
		n.mirrors.AllHeard()
	}
}

func (n *sourceNode) MirrorSeen(pod *v1.Pod) {
	n.mirrors.MirrorSeen(pod)
	n.note(func() {})
}

func (n *sourceNode) MirrorGone(pod *v1.Pod) {
	n.mirrors.MirrorGone(pod)
	n.note(func() {})
}

// until waits for calls until it is so.
func (n *sourceNode) until(what string, so func() bool) {
	n.Helper()
	late := time.After(patience)
	for {
		n.mu.Lock()
		done, wrong := so(), n.wrong
		n.mu.Unlock()
		assert.Require(n, wrong == nil, "%s: %q", what, wrong)
		if done {
			return
		}
		select {
		case <-n.called:
		case <-late:
			n.Fatalf("%s: never", what)
		}
	}
}

// network is that of a node; it can be cut.
type sourceNetwork struct {
	mu    sync.Mutex
	off   bool
	conns []net.Conn
}

func (w *sourceNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return nil, errors.Join(errors.New("the network is cut"), conn.Close())
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

func (w *sourceNetwork) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
	for _, c := range w.conns {
		_ = c.Close() // a broken connection is what is wanted
	}
	w.conns = nil
}

func (w *sourceNetwork) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = false
}
