// Package lead has what must run once in a cluster run on one of its servers: the one
// that holds a Lease, as the scheduler and the controller manager of upstream do.
package lead

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the Lease's, in kube-system.
const LeaseName = "lifepod"

// DefaultLease is how long after its last sign of life a leader is followed by
// another, upstream's time.
const DefaultLease = 15 * time.Second

// Config is who stands for election.
type Config struct {
	Client   kubernetes.Interface
	Identity string        // no other server's, and the same after a restart: who held the lease goes on at once
	Lease    time.Duration // DefaultLease if 0
	Log      *slog.Logger
}

// Upstream's proportions: 15 s, 10 s, 2 s.
func (c Config) renewDeadline() time.Duration { return c.Lease * 2 / 3 }
func (c Config) retryPeriod() time.Duration   { return c.Lease * 2 / 15 }

// Run runs led whenever this server is the leader, until ctx ends. The context of led
// ends with the leadership, and led has to return then: if it has not when another
// server may lead, that is an error, and this process must end.
func Run(ctx context.Context, c Config, led func(context.Context)) error {
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	for ctx.Err() == nil {
		t := &term{Config: c, led: led, ended: make(chan struct{})}
		if err := t.run(ctx); err != nil {
			return fmt.Errorf("leader election: %w", err)
		}
	}
	return nil
}

// term is one candidacy, and the leadership that follows.
type term struct {
	Config
	led   func(context.Context)
	ended chan struct{} // led has returned

	mu      sync.Mutex
	leading bool // led was called
	over    bool // it will not be any more
}

func (t *term) run(ctx context.Context) error {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: LeaseName},
		Client:     t.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: t.Identity},
	}
	// The lease is held until led has returned, also when ctx has ended before.
	electing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: LeaseName,
		LeaseDuration: t.Lease, RenewDeadline: t.renewDeadline(), RetryPeriod: t.retryPeriod(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { t.lead(ctx, leading, cancel) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				t.Log.Info("the cluster has a leader", "leader", identity, "self", identity == t.Identity)
			},
		},
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		if t.finish() {
			cancel()
		}
	})
	defer stop()
	elector.Run(electing)
	return t.close(ctx, lock)
}

// lead runs led until the leadership, or ctx, ends.
func (t *term) lead(ctx, leading context.Context, done func()) {
	t.mu.Lock()
	t.leading = !t.over
	t.mu.Unlock()
	if !t.leading {
		return
	}
	leading, cancel := context.WithCancel(leading)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	t.Log.Info("leads the cluster", "identity", t.Identity)
	t.led(leading)
	close(t.ended)
	done()
}

// finish has led not be called any more; false: it was.
func (t *term) finish() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return !t.leading
}

// errStuck ends the process: two leaders would do everything twice.
var errStuck = errors.New("the leadership is lost, and what the leader does has not ended before another one may begin")

// close waits for led and gives the lease up.
func (t *term) close(ctx context.Context, lock resourcelock.Interface) error {
	if t.finish() {
		return nil
	}
	if ctx.Err() == nil {
		t.Log.Warn("does not lead the cluster any more", "identity", t.Identity)
	}
	timer := time.NewTimer(t.Lease - t.renewDeadline())
	defer timer.Stop()
	select {
	case <-t.ended:
	case <-timer.C:
		return errStuck
	}
	t.release(context.WithoutCancel(ctx), lock)
	return nil
}

// release lets others lead at once; if that fails, they do when the lease is over.
func (t *term) release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(ctx, t.retryPeriod())
	defer cancel()
	held, _, err := lock.Get(ctx)
	if err != nil || held.HolderIdentity != t.Identity {
		return
	}
	now := metav1.Now()
	_ = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	})
}
