package csi

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// How often volumes are published anew whose driver wants that (A-CSI-11), and how often is looked
// for what no pod has any more (A-CSI-7).
const (
	republishPeriod = time.Minute
	strayPeriod     = time.Minute
)

// Run works until ctx ends. allHeard says whether every pod of the node is known.
func (v *Volumes) Run(ctx context.Context, allHeard func() bool) {
	republish, strays := time.NewTimer(republishPeriod), time.NewTicker(strayPeriod)
	defer republish.Stop()
	defer strays.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-republish.C:
			for _, pod := range v.republished() {
				v.config.Again(pod)
			}
			republish.Reset(republishPeriod + rand.N(republishPeriod/2))
		case <-strays.C:
			if allHeard() {
				v.unstageStrays(ctx)
			}
		}
	}
}

func (p *publishing) setRepublished(is bool) {
	p.on.mu.Lock()
	defer p.on.mu.Unlock()
	if is {
		p.on.republish[p.want.podVolume()] = true
	} else {
		delete(p.on.republish, p.want.podVolume())
	}
}

func (v *Volumes) forgetRepublished(pod types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.republish, func(of podVolume, _ bool) bool { return of.pod == pod })
}

// republished are the pods with such a volume.
func (v *Volumes) republished() (pods []types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for of := range v.republish {
		pods = append(pods, of.pod)
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}

// unstageStrays takes back what is staged for no pod, as after a kill between the two calls of a
// driver.
func (v *Volumes) unstageStrays(ctx context.Context) {
	stays, err := v.layout.allStays()
	if err != nil {
		v.config.Log.WarnContext(ctx, "volumes that no pod has can't be looked for", "err", err)
		return
	}
	var beside sync.WaitGroup
	for _, s := range stays {
		beside.Go(func() {
			if err := v.unstageStray(ctx, s); err != nil {
				v.config.Log.WarnContext(ctx, "a volume that no pod has is still staged", "driver", s.driver(), "volume", s.handle(), "err", err, "again in", strayPeriod)
			}
		})
	}
	beside.Wait()
}

func (v *Volumes) unstageStray(ctx context.Context, s stays) error {
	ctx, cancel := context.WithTimeout(ctx, strayPeriod)
	defer cancel()
	k := key{s.driver(), s.handle()}
	done, err := v.locks.Take(ctx, k)
	if err != nil {
		return err
	}
	defer done()
	driver, err := v.config.Drivers.Driver(k.driver)
	if err != nil {
		return err
	}
	return v.release(ctx, driver, k, use{record: s.record, name: s.name, device: s.name != ""})
}
