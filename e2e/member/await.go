package member

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/e2e/machine"
)

// AwaitReady waits until the Node object says that the node is ready.
func (m *Member) AwaitReady(ctx context.Context) error {
	return m.AwaitNode(ctx, "to be ready", func(node *v1.Node) bool { return machine.NodeReady(node).Status == v1.ConditionTrue })
}

// AwaitNode waits until the Node object is as wanted; what says so in the error.
// It ends early when the process does.
func (m *Member) AwaitNode(ctx context.Context, what string, wanted func(*v1.Node) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, end := m.whileItRuns(ctx)
	defer end(nil)
	nodes := cache.NewListWatchFromClient(m.client.CoreV1().RESTClient(), "nodes", "",
		fields.OneTermEqualSelector(metav1.ObjectNameField, m.Name))
	_, err := watchtools.UntilWithSync(ctx, nodes, &v1.Node{}, nil, func(e watch.Event) (bool, error) {
		return e.Type != watch.Deleted && wanted(e.Object.(*v1.Node)), nil
	})
	return m.explain(ctx, what, err)
}

// AwaitHealthy waits until the process answers the API server that it is healthy:
// after Run it has begun its work.
func (m *Member) AwaitHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, end := m.whileItRuns(ctx)
	defer end(nil)
	for {
		err := m.askHealth(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return m.explain(ctx, "to be healthy", err)
		case <-time.After(20 * time.Millisecond): // it tells nobody
		}
	}
}

func (m *Member) askHealth(ctx context.Context) error {
	return m.client.CoreV1().RESTClient().Get().Resource("nodes").Name(m.Name).SubResource("proxy", "healthz").Do(ctx).Error()
}

// removePods deletes the node's pods and waits until nothing is left of them,
// neither in the API nor on the machine.
func (m *Member) removePods() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ctx, end := m.whileItRuns(ctx)
	defer end(nil)
	onNode := metav1.ListOptions{FieldSelector: "spec.nodeName=" + m.Name}
	for {
		pods, err := m.client.CoreV1().Pods("").List(ctx, onNode)
		if err != nil {
			return m.explain(ctx, "to have no pods", err)
		}
		left := m.leftOfPods()
		if len(pods.Items) == 0 && len(left) == 0 {
			return nil
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil {
				_ = m.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(1)) // it may have gone
			}
		}
		select {
		case <-ctx.Done():
			return m.explain(ctx, fmt.Sprintf("to be free of its last %d pods and\n  %s", len(pods.Items), strings.Join(left, "\n  ")), ctx.Err())
		case <-time.After(20 * time.Millisecond): // nothing tells of what is on the machine
		}
	}
}

// whileItRuns is a context that ends with the process, with what is wrong as its
// cause.
func (m *Member) whileItRuns(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := m.process.Ended()
	go func() {
		select {
		case <-ended:
			cancel(errors.New("its process has ended"))
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// explain adds the end of the log to what went wrong while something was awaited.
func (m *Member) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	return fmt.Errorf("wait for %s %s: %w; the end of its log:\n%s", m.Name, what, err, m.process.LastLines(12))
}
