package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
)

const (
	// quietTime is how long nothing is written of pods at the end of a round: longer than lifepod waits before it counts an event
	// that it has told before.
	quietTime = 12 * time.Second
	// restTime is how long nodes do nothing before their memory is measured: longer than lifepod waits before it gives back
	// what it needs no longer.
	restTime = 12 * time.Second
	// patience is how long anything may take.
	patience = 15 * time.Minute
)

// round measures a side once. Afterwards nothing of it is left.
func (b *bench) round(ctx context.Context, name string, pods int) (r result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	s := sides[name]
	dir, err := b.newDir()
	if err != nil {
		return r, err
	}
	watching, end := context.WithCancel(ctx)
	seen := newSeen(s.ready)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() { seen.nodes.follow(watching, b.client.CoreV1().Nodes().Watch) })
	running.Go(func() { seen.pods.follow(watching, b.client.CoreV1().Pods(testbed.Namespace).Watch) })

	began := time.Now()
	of, err := s.start(ctx, b, dir)
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, of.LastLines(20))
		}
		err = errors.Join(err, of.Close(), b.deleteNodes(context.WithoutCancel(ctx), seen))
	}()
	if err := seen.nodes.await(ctx, of, "the Nodes to be Ready", func(t *tally) bool { return len(t.ready) == b.plan.nodes }); err != nil {
		return r, err
	}
	r.nodesReady = seen.nodes.latest().Sub(began)
	if err := testbed.Sleep(ctx, restTime); err != nil {
		return r, err
	}
	if _, r.memory.idle, err = process.Memory(of.PID()); err != nil {
		return r, err
	}
	if err := b.live(ctx, s, pods, of, seen, &r); err != nil {
		return r, err
	}
	return r, b.deletePods(ctx, pods, of, seen, &r)
}

// live creates the pods and waits until all are Ready and nothing is written any more.
func (b *bench) live(ctx context.Context, s side, pods int, of nodes, seen *seen, r *result) error {
	before, err := b.requests(ctx)
	if err != nil {
		return err
	}
	used, err := b.usage(of)
	if err != nil {
		return err
	}
	events, err := b.events(ctx)
	if err != nil {
		return err
	}
	asked := make([]time.Time, pods)
	began := time.Now()
	err = together(b.plan.creators, pods, func(i int) error {
		asked[i] = time.Now()
		_, err := b.client.CoreV1().Pods(testbed.Namespace).Create(ctx, s.podOf(i, b.plan.nodes), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	r.created = time.Since(began)
	if err := seen.pods.await(ctx, of, "the pods to be Ready", func(t *tally) bool { return len(t.ready) == pods }); err != nil {
		return err
	}
	r.took = seen.pods.latest().Sub(began)
	for i, at := range asked {
		r.latencies = append(r.latencies, seen.pods.readyAt(fmt.Sprint("pod-", i)).Sub(at))
	}
	now, err := b.usage(of)
	if err != nil {
		return err
	}
	r.untilReady = now.minus(used)
	if err := b.awaitQuiet(ctx, seen, events); err != nil {
		return err
	}
	if now, err = b.usage(of); err != nil {
		return err
	}
	r.whole = now.minus(used)
	if _, r.memory.busy, err = process.Memory(of.PID()); err != nil {
		return err
	}
	after, err := b.requests(ctx)
	r.writes = after.minus(before)
	return err
}

// awaitQuiet waits until no pod has changed and there was no new event for quietTime.
func (b *bench) awaitQuiet(ctx context.Context, seen *seen, events int64) error {
	last, changes := time.Now(), seen.pods.count()
	for time.Since(last) < quietTime {
		if err := testbed.Sleep(ctx, time.Second); err != nil {
			return err
		}
		now, err := b.events(ctx)
		if err != nil {
			return err
		}
		if count := seen.pods.count(); now != events || count != changes {
			events, changes, last = now, count, time.Now()
		}
	}
	return nil
}

// events is how many events there are of pods.
func (b *bench) events(ctx context.Context) (int64, error) {
	list, err := b.client.CoreV1().Events(testbed.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	count := int64(len(list.Items))
	if list.RemainingItemCount != nil {
		count += *list.RemainingItemCount
	}
	return count, nil
}

// deletePods deletes the pods as users do, and waits until all are gone.
func (b *bench) deletePods(ctx context.Context, pods int, of nodes, seen *seen, r *result) error {
	began := time.Now()
	err := together(b.plan.creators, pods, func(i int) error {
		return b.client.CoreV1().Pods(testbed.Namespace).Delete(ctx, fmt.Sprint("pod-", i), metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}
	if err := seen.pods.await(ctx, of, "the pods to be gone", func(t *tally) bool { return len(t.there) == 0 }); err != nil {
		return err
	}
	r.gone = time.Since(began)
	return nil
}

// deleteNodes deletes the Nodes, whose process has ended, and pods that are left of a round that has failed.
func (b *bench) deleteNodes(ctx context.Context, seen *seen) error {
	at := int64(0)
	err := b.client.CoreV1().Pods(testbed.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &at}, metav1.ListOptions{})
	err = errors.Join(err, b.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	if err != nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, testbed.Patience)
	defer cancel()
	return seen.nodes.await(ctx, nil, "the Nodes to be gone", func(t *tally) bool { return len(t.there) == 0 })
}

// together does something n times, so many at the same time; the first error is returned, and ends it.
func together(workers, n int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		all.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
			next.Store(int64(n))
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
