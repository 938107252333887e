package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// results has what each attempt took from the exit, and the bare writes after it.
type results struct{ started, run, bare []time.Duration }

// measure makes the floor, then the JobSet, and takes it through its attempts. The first one counts for nothing.
func (b *bench) measure(ctx context.Context) error {
	floor, err := b.newFloor(ctx)
	if err != nil {
		return err
	}
	if err := b.startJobSet(ctx); err != nil {
		return err
	}
	for i := range b.plan.attempts + 1 {
		started, run, err := b.measureAttempt(ctx, i+1)
		if err != nil {
			return err
		}
		testbed.Progress("round %d: all run again after %v, all started after %v", i, ms(run), ms(started))
		if i == 0 {
			continue
		}
		if err := testbed.Sleep(ctx, untilRest); err != nil {
			return err
		}
		bare, err := floor.write(ctx, i+1)
		if err != nil {
			return err
		}
		testbed.Progress("  the bare writes took %v", ms(bare))
		b.all.started, b.all.run, b.all.bare = append(b.all.started, started), append(b.all.run, run), append(b.all.bare, bare)
	}
	return nil
}

// untilRest is how long controllers may still have something to do.
const untilRest = 2 * time.Second

// measureAttempt waits for the exit, and returns when all workers had started since, and when all ran by their statuses.
func (b *bench) measureAttempt(ctx context.Context, attempt int) (started, run time.Duration, err error) {
	waits := time.Now()
	var exited time.Time
	select {
	case exited = <-b.exited:
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	if exited.Before(waits) {
		return 0, 0, fmt.Errorf("the worker exited %v before what was measured before had ended: -every %v is too short", ms(waits.Sub(exited)), b.plan.every)
	}
	at, err := b.awaitAttempt(ctx, attempt)
	if err != nil {
		return 0, 0, err
	}
	last, all := b.started.all(b.plan.pods)
	if !all {
		return 0, 0, errors.New("all run, and not all workers have written that they start")
	}
	return last.Sub(exited), at.Sub(exited), nil
}

// awaitAttempt waits until all pods run in an attempt, by their statuses.
func (b *bench) awaitAttempt(ctx context.Context, attempt int) (time.Time, error) {
	return b.pods.Await(ctx, fmt.Sprintf("all pods to run in attempt %d", attempt), func(pods map[string]*v1.Pod) bool {
		for _, pod := range pods {
			s := pod.Status.ContainerStatuses
			if pod.Annotations[lifecycle.AttemptAnnotation] != fmt.Sprint(attempt) || len(s) == 0 || s[0].State.Running == nil {
				return false
			}
		}
		return len(pods) == b.plan.pods
	})
}

func (r *results) print(out io.Writer, p plan) {
	if len(r.run) == 0 {
		return
	}
	fmt.Fprintf(out, "A worker of a JobSet with %d members exits, on as many simulated nodes. Rounds: %d\n", p.pods, len(r.run))
	fmt.Fprintf(out, "%-48s %10s %10s\n", "from the exit until", "median", "max")
	for _, row := range []struct {
		what string
		took []time.Duration
	}{
		{"all workers have started", r.started},
		{"all run again, by their statuses", r.run},
		{"bare writes: two statuses of as many pods", r.bare},
	} {
		fmt.Fprintf(out, "%-48s %10s %10s\n", row.what, ms(median(row.took)), ms(slices.Max(row.took)))
	}
	fmt.Fprintf(out, "%-48s %10s\n", "all run again, by the bare writes", times.Ratio(median(r.run).Seconds(), median(r.bare).Seconds()))
}

func median(of []time.Duration) time.Duration { return times.Quantile(of, 0.5) }

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
