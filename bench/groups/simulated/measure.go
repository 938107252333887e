package main

import (
	"context"
	"time"
)

// results has what was measured in all rounds.
type results struct {
	rounds []result
	floors []time.Duration
}

// result is one round.
type result struct {
	took   time.Duration // from the exit until all run
	first  time.Duration // from the exit until the pod has told the next attempt, and so on
	out    time.Duration // until the JobSet says that the attempt before is outdated
	told   time.Duration // until all have told the next one
	may    time.Duration // until the JobSet says that it may begin
	cpu    map[string]time.Duration
	writes writes // until all run
	later  writes // of the whole round; some are written after all run again
}

// measure takes the JobSet through its rounds. The first one counts for nothing.
func (b *bench) measure(ctx context.Context) error {
	bare, err := b.newFloor(ctx)
	if err != nil {
		return err
	}
	attempt, began := 0, b.seen.count()
	for i := range b.plan.rounds + 1 {
		attempt++
		r, err := b.round(ctx, attempt)
		if err != nil {
			return err
		}
		now := b.seen.count()
		r.later = now.minus(began) // with the events of the round before, which come late
		began = now
		if i > 0 {
			b.all.rounds = append(b.all.rounds, r)
		}
		progress("round %d: all run again after %v (told %v, outdated %v, all told %v, may begin %v)",
			i, ms(r.took), ms(r.first), ms(r.out), ms(r.told), ms(r.may))
		floor, err := bare.write(ctx, attempt)
		if err != nil {
			return err
		}
		if i > 0 {
			b.all.floors = append(b.all.floors, floor)
		}
		progress("  the bare writes took %v", ms(floor))
	}
	return nil
}

func (b *bench) round(ctx context.Context, attempt int) (r result, err error) {
	var began time.Time
	select {
	case began = <-b.exited:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	used, err := b.cpu()
	if err != nil {
		return r, err
	}
	before := b.seen.count()
	seen, err := b.seen.await(ctx, attempt)
	if err != nil {
		return r, err
	}
	r = result{
		took: seen.all.Sub(began), first: seen.first.Sub(began), out: seen.previous.Sub(began), told: seen.told.Sub(began), may: seen.current.Sub(began),
		writes: b.seen.count().minus(before),
	}
	after, err := b.cpu()
	r.cpu = map[string]time.Duration{}
	for name := range after {
		r.cpu[name] = after[name] - used[name]
	}
	return r, err
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
