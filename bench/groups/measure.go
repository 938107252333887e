package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/bench/testbed"
)

// group is what is measured of a way.
type group struct {
	*bench
	way
	pods     *testbed.Board[*v1.Pod] // its members
	writes   *atomic.Int64           // of the pods, as the watch of this program has shown them
	attempts []taken
	bare     []time.Duration // the bare writes after each round
	idle     time.Duration   // how long the API server stood still until all workers had started; 0: it was not tried
}

// taken is what an attempt took.
type taken struct {
	living, started, run time.Duration // from the exit until members that live have announced the attempt, all workers have started, all run
	back                 time.Duration // from when the last member was bound that was made again until all workers have started
	before, writes       int64         // until all workers have started, and in all
	events               float64       // of pods, that all watchers got
	bareEvents           float64       // the same of the bare writes
	cpu                  map[string]time.Duration
}

// measure makes the floor, and then takes a group of each way through its rounds.
func (b *bench) measure(ctx context.Context) (groups []*group, err error) {
	floor, err := b.newFloor(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range ways(b.plan) {
		g := &group{bench: b, way: w, pods: testbed.NewBoard[*v1.Pod](), writes: &atomic.Int64{}}
		groups = append(groups, g)
		if err := g.measure(ctx, floor); err != nil {
			return groups, fmt.Errorf("%s: %w", w.title, err)
		}
	}
	return groups, nil
}

// measure creates the group, and deletes it in the end. The first round counts for nothing.
func (g *group) measure(ctx context.Context, floor *floor) error {
	testbed.Progress("%s of %d pods", g.title, g.plan.pods)
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { g.pods.Run(watching, g.watch) })
	defer func() { cancel(); running.Wait() }()
	began := time.Now()
	if _, err := g.plane.Kubectl(ctx, g.manifest, "apply", "--filename=-"); err != nil {
		return err
	}
	attempt, at, err := g.awaitAttempt(ctx, "")
	testbed.Progress("all run for the first time after %v", ms(at.Sub(began)))
	for i := 0; i <= g.plan.attempts && err == nil; i++ {
		var r taken
		if r, attempt, err = g.measureAttempt(ctx, attempt); err != nil {
			break
		}
		testbed.Progress("round %d: all started after %v, all run again after %v", i, ms(r.started), ms(r.run))
		var bare time.Duration
		if bare, r.bareEvents, err = floor.measure(ctx, i+1); i > 0 && err == nil {
			testbed.Progress("  the bare writes took %v", ms(bare))
			g.attempts, g.bare = append(g.attempts, r), append(g.bare, bare)
		}
	}
	if g.kind == "job" && g.plan.lost == 0 && err == nil {
		err = g.standStill(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := g.plane.Kubectl(ctx, "", "delete", g.kind, "train", "--cascade=foreground", "--wait=false"); err != nil {
		return err
	}
	_, err = g.pods.Await(ctx, "the end of all pods", func(left map[string]*v1.Pod) bool { return len(left) == 0 })
	return err
}

// watch watches the members.
func (g *group) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector = memberLabel
	w, err := g.client.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if e.Type == watch.Modified {
			g.writes.Add(1)
		}
		return e, true
	}), nil
}

const (
	untilRest = 2 * time.Second // how long controllers may still have something to do
	ahead     = 2 * time.Second // before an exit, what is counted begins
)

// awaitExit calls prepare shortly before the worker exits, and returns when it has.
func (g *group) awaitExit(ctx context.Context, prepare func() error) (time.Time, error) {
	next := g.started.exits(g.plan.every)
	if wait := time.Until(next) - ahead; wait > 0 {
		if err := testbed.Sleep(ctx, wait); err != nil {
			return next, err
		}
	} else {
		return next, fmt.Errorf("the worker exits %v before what was measured before has ended: -every %v is too short", ms(-wait), g.plan.every)
	}
	if err := prepare(); err != nil {
		return next, err
	}
	select {
	case <-g.exited: // of a round that is not measured
	default:
	}
	select {
	case at := <-g.exited:
		return at, nil
	case <-ctx.Done():
		return next, context.Cause(ctx)
	}
}

// measureAttempt waits for the exit, and until all run again; it returns the attempt in which they do.
func (g *group) measureAttempt(ctx context.Context, before string) (r taken, attempt string, err error) {
	var events float64
	var used map[string]time.Duration
	var lost []string
	exited, err := g.awaitExit(ctx, func() (err error) {
		if lost, err = g.condemn(ctx); err == nil {
			events, err = g.watchEvents(ctx)
		}
		if err == nil {
			used, err = g.cpu()
		}
		return err
	})
	if err != nil {
		return r, "", err
	}
	writes := g.writes.Load()
	if err := g.lose(ctx, lost); err != nil {
		return r, "", err
	}
	var living, bound time.Time
	if living, bound, err = g.awaitLiving(ctx, before, lost); err != nil {
		return r, "", err
	}
	last, err := g.awaitStarted(ctx)
	if err != nil {
		return r, "", err
	}
	r.before = g.writes.Load() - writes
	attempt, at, err := g.awaitAttempt(ctx, before)
	if err != nil {
		return r, "", err
	}
	r.living, r.started, r.run, r.back = living.Sub(exited), last.Sub(exited), at.Sub(exited), last.Sub(bound)
	if r.cpu, err = g.cpu(); err != nil {
		return r, "", err
	}
	for name := range r.cpu {
		r.cpu[name] -= used[name]
	}
	if err := testbed.Sleep(ctx, untilRest); err != nil {
		return r, "", err
	}
	r.writes = g.writes.Load() - writes
	r.events, err = g.watchEvents(ctx)
	r.events -= events
	return r, attempt, err
}

// awaitStarted waits until all workers have started.
func (g *group) awaitStarted(ctx context.Context) (time.Time, error) {
	for {
		last, all := g.started.all(g.plan.pods)
		if all {
			return last, nil
		}
		if err := testbed.Sleep(ctx, time.Millisecond); err != nil {
			return last, err
		}
	}
}

// awaitAttempt waits until all pods run in an attempt after that one, by their statuses.
func (g *group) awaitAttempt(ctx context.Context, before string) (attempt string, at time.Time, err error) {
	at, err = g.pods.Await(ctx, "all pods to run in the attempt after "+before, func(pods map[string]*v1.Pod) bool {
		attempt = ""
		for _, pod := range pods {
			of, s := g.attempt(pod), pod.Status.ContainerStatuses
			if of == before || attempt != "" && of != attempt || len(s) == 0 || s[0].State.Running == nil {
				return false
			}
			attempt = of
		}
		return len(pods) == g.plan.pods
	})
	return attempt, at, err
}

// attempt is the one that the pod has announced.
func (g *group) attempt(pod *v1.Pod) string {
	attempt, _, _ := strings.Cut(pod.Annotations[g.annotation], ".") // the mode follows
	return attempt
}

// standStill has the API server stand still while a worker exits, until all have started.
func (g *group) standStill(ctx context.Context) error {
	pid := g.pids[apiServer]
	exited, err := g.awaitExit(ctx, func() error { return syscall.Kill(pid, syscall.SIGSTOP) })
	if err == nil {
		var last time.Time
		waiting, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		last, err = g.awaitStarted(waiting)
		g.idle = last.Sub(exited)
	}
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
