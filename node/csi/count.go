package csi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// counter asks one driver for its limit from time to time.
type counter struct {
	period time.Duration
	end    context.CancelFunc
}

// keepCounts has the CSINode say how many volumes each driver takes, as often as its CSIDriver
// asks for, until ctx ends (A-CSI-2).
func (r *Registry) keepCounts(ctx context.Context) {
	counters := map[string]counter{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		periods := r.periods()
		for name, c := range counters {
			if periods[name] != c.period {
				c.end()
				delete(counters, name)
			}
		}
		for name, period := range periods {
			if _, runs := counters[name]; runs {
				continue
			}
			counting, end := context.WithCancel(ctx)
			counters[name] = counter{period: period, end: end}
			running.Go(func() { r.keepCount(counting, name, period) })
		}
		select {
		case <-ctx.Done():
			for _, c := range counters {
				c.end()
			}
			return
		case <-r.recount:
		}
	}
}

// periods are those of the drivers that are to be asked.
func (r *Registry) periods() map[string]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	periods := map[string]time.Duration{}
	for name := range r.drivers {
		if known := r.objects.known(name); known != nil && known.Spec.NodeAllocatableUpdatePeriodSeconds != nil {
			if seconds := *known.Spec.NodeAllocatableUpdatePeriodSeconds; seconds > 0 {
				periods[name] = time.Duration(seconds) * time.Second
			}
		}
	}
	return periods
}

func (r *Registry) keepCount(ctx context.Context, name string, period time.Duration) {
	_ = wait.PollUntilContextCancel(ctx, period, false, func(ctx context.Context) (bool, error) {
		if err := r.Recount(ctx, name); err != nil && ctx.Err() == nil {
			r.config.Log.WarnContext(ctx, "ask a CSI driver how many volumes the node may have", "driver", name, "err", err)
		}
		return false, nil
	})
}

// Recount asks a driver how many volumes the node may have, and has the CSINode say so. To be
// called when a volume could not be attached for want of resources, too.
func (r *Registry) Recount(ctx context.Context, name string) error {
	d, err := r.Driver(name)
	if err != nil {
		return err
	}
	answer, err := d.nodeInfo(ctx)
	if err != nil {
		return fmt.Errorf("failed to get NodeGetInfo from driver %q: %w", name, err)
	}
	if d.maxVolumes.Swap(answer.GetMaxVolumesPerNode()) == answer.GetMaxVolumesPerNode() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest(name) == d {
		r.Node.Want(name, d.about())
	}
	return nil
}
