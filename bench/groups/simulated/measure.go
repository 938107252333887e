package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
)

// results has what was measured in all attempts.
type results struct {
	attempts    []result
	bare, owned []taken // of the floors
	says        map[string]int
}

// taken is what something took.
type taken struct {
	time     time.Duration
	cpu      map[string]time.Duration // of each process
	requests requests
}

// result is one attempt.
type result struct {
	taken                // from the exit until all run
	first  time.Duration // from the exit until the pod announces the next attempt, and so on
	out    time.Duration // until the JobSet says that the attempt before is outdated
	allIn  time.Duration // until all have announced it
	may    time.Duration // until the JobSet says that it may begin
	starts time.Duration // until all workers have started; their statuses come later
	writes writes        // until all run
	later  writes        // of the whole attempt; some are written after all run again
}

// measure makes the floors, then the JobSet, and takes it through its attempts. The first one counts for nothing.
func (b *bench) measure(ctx context.Context) error {
	var floors floors
	if b.plan.floors {
		var err error
		if floors, err = b.newFloors(ctx); err != nil {
			return err
		}
	}
	if err := b.startJobSet(ctx); err != nil {
		return err
	}
	b.all.says = map[string]int{}
	began := b.seen.count()
	for i := range b.plan.attempts + 1 {
		r, err := b.measureAttempt(ctx, i+1)
		if err != nil {
			return err
		}
		now := b.seen.count()
		r.later = now.minus(began) // with the events of the attempt before, which come late
		began = now
		testbed.Progress("round %d: all run again after %v (told %v, outdated %v, all told %v, may begin %v, all started %v)",
			i, ms(r.time), ms(r.first), ms(r.out), ms(r.allIn), ms(r.may), ms(r.starts))
		if i == 0 {
			continue
		}
		b.all.attempts = append(b.all.attempts, r)
		if !b.plan.floors {
			continue
		}
		bare, err := b.write(ctx, "bare", floors.bare, i+1)
		if err != nil {
			return err
		}
		owned, err := b.write(ctx, "owned", floors.owned, i+1)
		if err != nil {
			return err
		}
		testbed.Progress("  the bare writes took %v, the same writes for the pods of another JobSet %v", ms(bare.time), ms(owned.time))
		b.all.bare, b.all.owned = append(b.all.bare, bare), append(b.all.owned, owned)
	}
	return nil
}

func (b *bench) measureAttempt(ctx context.Context, attempt int) (r result, err error) {
	lost, err := b.condemn(ctx)
	if err != nil {
		return r, err
	}
	var began time.Time
	var asked requests
	waits := time.Now()
	for began.IsZero() {
		if asked, err = writesAsked(ctx, b.client); err != nil { // before the exit: it takes time
			return r, err
		}
		select {
		case began = <-b.exited:
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
	if began.Before(waits) {
		return r, fmt.Errorf("the worker exited %v before what was measured before had ended: -every %v is too short", ms(waits.Sub(began)), b.plan.every)
	}
	before, said := b.seen.count(), b.seen.kinds()
	r.taken, err = b.taking(ctx, "round", asked, func() (time.Duration, error) {
		if err := b.lose(ctx, lost); err != nil {
			return 0, err
		}
		seen, err := b.seen.await(ctx, attempt, allRun)
		r.first, r.out, r.allIn, r.may = seen.first.Sub(began), seen.previous.Sub(began), seen.allIn.Sub(began), seen.current.Sub(began)
		if last, all := b.started.all(b.plan.pods); all {
			r.starts = last.Sub(began)
		} else if err == nil {
			err = errors.New("all run, and not all workers have written that they start")
		}
		return seen.all.Sub(began), err
	})
	r.writes = b.seen.count().minus(before)
	if attempt > 1 {
		for kind, n := range b.seen.kinds() {
			b.all.says[kind] += n - said[kind]
		}
	}
	return r, err
}

// write writes what a restart takes at least, when what was done before has come to rest.
func (b *bench) write(ctx context.Context, what string, f *floor, attempt int) (t taken, err error) {
	if err := testbed.Sleep(ctx, untilRest); err != nil {
		return t, err
	}
	asked, err := writesAsked(ctx, b.client)
	if err != nil {
		return t, err
	}
	return b.taking(ctx, what, asked, func() (time.Duration, error) { return f.write(ctx, attempt) })
}

// untilRest is how long controllers may still have something to do.
const untilRest = 2 * time.Second

// taking measures what something takes.
func (b *bench) taking(ctx context.Context, what string, asked requests, do func() (time.Duration, error)) (t taken, err error) {
	used, err := b.cpu()
	if err != nil {
		return t, err
	}
	profiled := b.profile(ctx, what)
	if t.time, err = do(); err != nil {
		return t, err
	}
	after, err := b.cpu()
	if err != nil {
		return t, err
	}
	t.cpu = map[string]time.Duration{}
	for name := range after {
		t.cpu[name] = after[name] - used[name]
	}
	if t.requests, err = writesAsked(ctx, b.client); err != nil {
		return t, err
	}
	t.requests = t.requests.minus(asked)
	b.last[what] = t.time
	return t, profiled()
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
