package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/nodes/side"
	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/seen"
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

// turn is one round of a side.
type turn struct {
	b      *bench
	side   side.Side
	pods   int
	nodes  side.Nodes
	seen   struct{ nodes, pods *seen.Tally }
	result result
}

// round measures a side once. Afterwards nothing of it is left.
func (b *bench) round(ctx context.Context, name string, pods int) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	t := &turn{b: b, side: side.All[name], pods: pods}
	t.seen.nodes, t.seen.pods = seen.Nodes(), seen.Pods(t.side.Ready)
	watching, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() { t.seen.nodes.Follow(watching, b.client, metav1.NamespaceAll) })
	running.Go(func() { t.seen.pods.Follow(watching, b.client, testbed.Namespace) })
	err := t.run(ctx)
	return t.result, err
}

func (t *turn) run(ctx context.Context) (err error) {
	dir, err := t.b.newDir()
	if err != nil {
		return err
	}
	began := time.Now()
	plan := t.b.plan
	t.nodes, err = t.side.Start(ctx, side.Config{
		Program: plan.lifepod, Profiles: plan.profiles, Count: plan.nodes, Creators: plan.creators, Parallelism: plan.parallelism,
		Plane: t.b.plane, Client: t.b.client, Dir: dir,
	})
	if err != nil {
		return err
	}
	t.b.version = cmp.Or(t.nodes.Version(), t.b.version)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, t.nodes.LastLines(20))
		}
		err = errors.Join(err, t.nodes.Close(), t.deleteNodes(ctx))
	}()
	if err := t.seen.nodes.AwaitReady(ctx, t.nodes.Ended(), "the Nodes", t.b.plan.nodes); err != nil {
		return err
	}
	t.result.nodesReady = t.seen.nodes.Latest().Sub(began)
	if err := testbed.Sleep(ctx, restTime); err != nil {
		return err
	}
	if _, t.result.memory.idle, err = process.Memory(t.nodes.PID()); err != nil {
		return err
	}
	if err := t.live(ctx); err != nil {
		return err
	}
	return t.deletePods(ctx)
}

// live creates the pods, and waits until all are Ready and nothing is written any more.
func (t *turn) live(ctx context.Context) error {
	before, err := seen.Answered(ctx, t.b.client)
	if err != nil {
		return err
	}
	events, err := t.b.events(ctx)
	if err != nil {
		return err
	}
	used, err := t.b.usage(t.nodes)
	if err != nil {
		return err
	}
	if err := t.create(ctx); err != nil {
		return err
	}
	now, err := t.b.usage(t.nodes)
	if err != nil {
		return err
	}
	t.result.untilReady = now.minus(used)
	if err := t.awaitQuiet(ctx, events); err != nil {
		return err
	}
	if now, err = t.b.usage(t.nodes); err != nil {
		return err
	}
	t.result.whole = now.minus(used)
	if _, t.result.memory.busy, err = process.Memory(t.nodes.PID()); err != nil {
		return err
	}
	after, err := seen.Answered(ctx, t.b.client)
	t.result.writes = after.Minus(before)
	return err
}

// create creates the pods and waits until all are Ready.
func (t *turn) create(ctx context.Context) error {
	asked := make([]time.Time, t.pods)
	began := time.Now()
	err := testbed.Together(t.b.plan.creators, t.pods, func(i int) error {
		asked[i] = time.Now()
		_, err := t.b.client.CoreV1().Pods(testbed.Namespace).Create(ctx, t.side.Pod(i, t.b.plan.nodes), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	t.result.created = time.Since(began)
	if err := t.seen.pods.AwaitReady(ctx, t.nodes.Ended(), "the pods", t.pods); err != nil {
		return err
	}
	t.result.took = t.seen.pods.Latest().Sub(began)
	for i, at := range asked {
		t.result.latencies = append(t.result.latencies, t.seen.pods.ReadyAt(side.PodName(i)).Sub(at))
	}
	return nil
}

// awaitQuiet waits until no pod has changed and there was no new event for quietTime.
func (t *turn) awaitQuiet(ctx context.Context, events int64) error {
	last, changes := time.Now(), t.seen.pods.Count()
	for time.Since(last) < quietTime {
		if err := testbed.Sleep(ctx, time.Second); err != nil {
			return err
		}
		now, err := t.b.events(ctx)
		if err != nil {
			return err
		}
		if count := t.seen.pods.Count(); now != events || count != changes {
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
func (t *turn) deletePods(ctx context.Context) error {
	began := time.Now()
	err := testbed.Together(t.b.plan.creators, t.pods, func(i int) error {
		return t.b.client.CoreV1().Pods(testbed.Namespace).Delete(ctx, side.PodName(i), metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}
	err = t.seen.pods.AwaitGone(ctx, t.nodes.Ended(), "the pods")
	t.result.gone = time.Since(began)
	return err
}

// deleteNodes deletes the Nodes, whose process has ended, and pods that are left of a round that has failed. When ctx has ended
// the control plane ends, too, with all that is in it.
func (t *turn) deleteNodes(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, testbed.Patience)
	defer cancel()
	core := t.b.client.CoreV1()
	err := errors.Join(
		core.Pods(testbed.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}),
		core.Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
	)
	if err != nil {
		return err
	}
	return t.seen.nodes.AwaitGone(ctx, nil, "the Nodes")
}
