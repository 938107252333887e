package register

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"
)

// patchStatus sends the difference of two versions of a Node to its status, as
// component-helpers makes it: it knows that addresses must not be merged.
func patchStatus(ctx context.Context, client kubernetes.Interface, before, after *v1.Node) (*v1.Node, error) {
	patcher := &patcher{CoreV1Interface: client.CoreV1(), ctx: ctx}
	node, _, err := nodeutil.PatchNodeStatus(patcher, types.NodeName(after.Name), before, after)
	if patcher.err != nil {
		return nil, fmt.Errorf("patch the status of node %q: %w", after.Name, patcher.err)
	}
	return node, err
}

// patcher carries what PatchNodeStatus doesn't: a context to the request, and
// the request's error, of which it returns only a text (with the whole patch).
type patcher struct {
	corev1client.CoreV1Interface
	ctx context.Context
	err error
}

func (p *patcher) Nodes() corev1client.NodeInterface { return nodes{p.CoreV1Interface.Nodes(), p} }

type nodes struct {
	corev1client.NodeInterface
	patcher *patcher
}

func (n nodes) Patch(_ context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*v1.Node, error) {
	node, err := n.NodeInterface.Patch(n.patcher.ctx, name, kind, data, options, subresources...)
	n.patcher.err = err
	return node, err
}
