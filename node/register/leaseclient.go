package register

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// leaseClient is the lease controller's. It bounds each call, to which the
// controller gives no deadline: on a connection that leads nowhere a call would
// wait for longer than the Lease is good for. And it tells when nobody has
// answered for the second time in a row, which the controller does not in all
// cases.
type leaseClient struct {
	kubernetes.Interface
	timeout time.Duration
	broken  func()

	unanswered int // in a row; the controller makes one call at a time
}

func (c *leaseClient) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return leaseGroup{c.Interface.CoordinationV1(), c}
}

// call makes a call.
func (c *leaseClient) call(ctx context.Context, do func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	ctx, done := context.WithTimeout(ctx, c.timeout)
	defer done()
	lease, err := do(ctx)
	if err == nil || isAnswer(err) {
		c.unanswered = 0
		return lease, err
	}
	if c.unanswered++; c.unanswered > 1 {
		c.broken()
	}
	return lease, err
}

type leaseGroup struct {
	coordinationclient.CoordinationV1Interface
	client *leaseClient
}

func (g leaseGroup) Leases(namespace string) coordinationclient.LeaseInterface {
	return leases{g.CoordinationV1Interface.Leases(namespace), g.client}
}

type leases struct {
	coordinationclient.LeaseInterface
	client *leaseClient
}

func (l leases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.client.call(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Get(ctx, name, options)
	})
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.client.call(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Create(ctx, lease, options)
	})
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.client.call(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.LeaseInterface.Update(ctx, lease, options)
	})
}
