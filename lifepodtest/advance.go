package lifepodtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/sim/nodes"
)

// Nodes are those of Start.
type Nodes struct {
	t      testing.TB
	client kubernetes.Interface
	binds  bool          // pods that are on no node
	manual *nodes.Manual // nil: time goes by itself
}

// time is what pods live by.
func (o Options) time() nodes.Time {
	lives := nodes.Time{Speed: o.Speed}
	if o.Manual {
		lives.Manual = nodes.NewManual()
	}
	return lives
}

// Advance moves the time of pods on by d, with Options.Manual; in real time it takes a moment. First the nodes hear of all
// pods that were created or deleted, or whose spec was changed. Then all that is due happens in its order: whatever a pod does at
// one time is done, and the API server has been told, before the next time comes. When Advance returns that has the statuses of all
// pods; their Events come a little later, as always.
//
// It does not wait for what others do in answer, such as an operator that replaces a pod that has failed: that pod
// lives from when its node hears of it. Wait for it, then advance again. A group needs several steps, since its members hear of
// each other by way of the API server. Times in the API are the real ones. Call it from the goroutine of the test.
func (n *Nodes) Advance(d time.Duration) {
	n.t.Helper()
	if n.manual == nil {
		n.t.Fatal("lifepodtest: Advance: the time of pods goes by itself without Options.Manual")
	}
	if err := n.advance(d); err != nil {
		n.t.Fatalf("lifepodtest: advance by %v: %v", d, err)
	}
}

func (n *Nodes) advance(d time.Duration) error {
	if n.binds {
		if err := n.awaitBound(n.t.Context()); err != nil {
			return err
		}
	}
	return n.manual.Advance(n.t.Context(), d)
}

// awaitBound waits until all pods are on nodes that there are now.
func (n *Nodes) awaitBound(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	for {
		list, err := n.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		unbound := ""
		for i := range list.Items {
			if pod := &list.Items[i]; isUnbound(pod) {
				unbound = pod.Namespace + "/" + pod.Name
			}
		}
		if unbound == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until pod %s is bound to a node: %w", unbound, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
