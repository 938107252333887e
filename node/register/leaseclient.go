package register

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

const (
	// firstWait is doubled with every failure, up to one of the others.
	firstWait = 100 * time.Millisecond
	// longestSilent is for an API server that nobody answers for: the attempt costs
	// it nothing, and the node is back within a second after it.
	longestSilent = time.Second
	// longestRefused is for one that answers with an error.
	longestRefused = 3 * time.Second
	// remindEvery is how often a failure that lasts is logged again.
	remindEvery = 5 * time.Minute
)

// backoff is the wait between attempts at one thing, and the log of an outage:
// its beginning, a reminder now and then, and its end.
type backoff struct {
	log  *slog.Logger
	what string

	wait     time.Duration
	refused  bool
	since    time.Time
	reminded time.Time
}

// failed is how long to wait before the next attempt.
func (b *backoff) failed(err error) time.Duration {
	refused := isAnswer(err)
	longest := longestSilent
	if refused {
		longest = longestRefused
	}
	if refused != b.refused {
		b.refused, b.wait = refused, 0
	}
	b.wait = min(max(2*b.wait, firstWait), longest)
	b.complain(err)
	wait := b.wait/2 + rand.N(b.wait)
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		wait = max(wait, time.Duration(seconds)*time.Second)
	}
	return wait
}

func (b *backoff) complain(err error) {
	now := time.Now()
	if b.since.IsZero() {
		b.since = now
	} else if now.Sub(b.reminded) < remindEvery {
		return
	}
	b.reminded = now
	b.log.Warn(b.what+" fails", "since", b.since.Format(time.TimeOnly), "err", err)
}

// succeeded ends an outage; it says whether there was one.
func (b *backoff) succeeded() (wasOut bool) {
	wasOut = !b.since.IsZero()
	if wasOut {
		b.log.Info(b.what+" works again", "after", time.Since(b.since).Round(time.Millisecond))
	}
	b.wait, b.since = 0, time.Time{}
	return wasOut
}

// isAnswer says whether an error is an answer of the API server.
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer)
}
