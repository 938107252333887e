package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/node/publish"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/sim/live"
)

// Manual moves on the time in which the pods of some nodes live, which else stands still.
type Manual struct {
	time *live.Manual

	mu     sync.Mutex
	client kubernetes.Interface  // nil: the nodes have not begun
	nodes  map[string]manualNode // by name
}

type manualNode struct {
	pods     *pods.Shell
	statuses publish.Statuses
}

func NewManual() *Manual { return &Manual{time: live.NewManual(), nodes: map[string]manualNode{}} }

func (m *Manual) begin(client kubernetes.Interface) (live.VirtualTime, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return nil, errors.New("this time is that of other nodes")
	}
	m.client = client
	return m.time, nil
}

// Add adds a node, or what it is after it has begun anew.
func (m *Manual) Add(name string, pods *pods.Shell, statuses publish.Statuses) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[name] = manualNode{pods, statuses}
}

// known are the nodes that were added, and the client for their pods.
func (m *Manual) known() (map[string]manualNode, kubernetes.Interface) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.nodes), m.client
}

const (
	// patience is how long the API server may take to tell the nodes of pods, and to take their statuses.
	patience = time.Minute
	// listPause is between two looks whether the nodes know all pods.
	listPause = 10 * time.Millisecond
)

// Advance moves the time on by d. First the nodes hear of all pods that the API server has for them, which it knows by their
// generations. Then comes everything in its order: at each time at which something is due, all pods go as far as they can, and the
// API server gets what it would be told at once in real time, before the next time comes. At the end it has all statuses.
func (m *Manual) Advance(ctx context.Context, d time.Duration) error {
	if err := m.hear(ctx); err != nil {
		return err
	}
	if err := m.time.Advance(d, func() error { return m.settle(ctx, publish.Statuses.AwaitDue) }); err != nil {
		return err
	}
	return m.settle(ctx, publish.Statuses.AwaitSent)
}

// settle waits until the pods have nothing left to do at this time, and until await has returned for each node.
func (m *Manual) settle(ctx context.Context, await func(publish.Statuses, context.Context)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	if err := m.time.AwaitQuiet(ctx); err != nil {
		return err
	}
	var running sync.WaitGroup
	nodes, _ := m.known()
	for _, n := range nodes {
		running.Go(func() { await(n.statuses, ctx) })
	}
	running.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("wait until the API server has the pods' statuses: %w", context.Cause(ctx))
	}
	return m.time.AwaitQuiet(ctx)
}

// hear waits until the nodes know the pods as the API server has them now.
func (m *Manual) hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	nodes, client := m.known()
	if client == nil {
		return errors.New("the nodes have not begun")
	}
	for {
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		unheard := unheardOf(nodes, list.Items)
		if unheard == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", unheard, context.Cause(ctx))
		case <-time.After(listPause):
		}
	}
}

// unheardOf is something that a node does not know of pods as the API server has them; empty: there is nothing.
func unheardOf(nodes map[string]manualNode, pods []v1.Pod) string {
	wanted := map[types.UID]bool{}
	known := map[types.UID]roster.View{}
	for _, n := range nodes {
		for _, view := range n.pods.Views() {
			known[view.Pod.UID] = view
		}
	}
	for i := range pods {
		pod := &pods[i]
		if _, ours := nodes[pod.Spec.NodeName]; !ours {
			continue
		}
		wanted[pod.UID] = true
		view, found := known[pod.UID]
		if !found || view.Pod.Generation < pod.Generation || (view.Pod.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) {
			return fmt.Sprintf("node %s knows pod %s/%s of generation %d", pod.Spec.NodeName, pod.Namespace, pod.Name, pod.Generation)
		}
	}
	for uid, view := range known {
		if view.Wanted && !wanted[uid] {
			return fmt.Sprintf("node %s knows that pod %s/%s is gone", view.Pod.Spec.NodeName, view.Pod.Namespace, view.Pod.Name)
		}
	}
	return ""
}
