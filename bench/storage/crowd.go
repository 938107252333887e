package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// Crowd creates so many pods at once, each with a volume, and removes them again. It records how long
// the median of them, and the last one, took from the first request until it was Running and Ready.
func (d *Driver) Crowd(ctx context.Context, s *testbed.Side, count int, record times.Record) error {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = testbed.NewPod(s.Member.Name)
	}
	if err := d.Claim(ctx, s.API, pods); err != nil {
		return err
	}
	took := make([]time.Duration, count)
	began := time.Now()
	err := bare.Together(count, func(i int) error {
		if err := s.Create(ctx, pods[i]); err != nil {
			return err
		}
		at, err := s.Pods.Await(ctx, "a pod with a volume to be ready", testbed.Ready(pods[i].Name))
		took[i] = at.Sub(began)
		return err
	})
	if err != nil {
		return err
	}
	recordCrowd(took, record)
	if _, err := s.DeleteAll(ctx, pods); err != nil {
		return err
	}
	return d.Release(ctx, s.API, pods)
}

// BareCrowd does the same by bare calls.
func (d *Driver) BareCrowd(ctx context.Context, floor *bare.Runtime, count int, record times.Record) error {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = testbed.BareOf(testbed.NewPod(""))
	}
	volumes, err := d.NewBare(ctx, pods)
	if err != nil {
		return err
	}
	floor.Volumes = volumes.Mounts
	defer func() { floor.Volumes = nil }()
	var all times.Samples
	err = floor.AtOnce(ctx, pods, all.When(true))
	if err == nil {
		recordCrowd(all.Of(fmt.Sprintf("one of %d created at once", count)), record)
	}
	return errors.Join(err, volumes.Remove(ctx, pods))
}

// Median is what Crowd records of the median pod.
func Median(count int) string { return fmt.Sprintf("%d with volumes, median", count) }

// Last is what it records of the last one.
func Last(count int) string { return fmt.Sprintf("%d with volumes, last", count) }

func recordCrowd(took []time.Duration, record times.Record) {
	record(Median(len(took)), times.Quantile(took, 0.5))
	record(Last(len(took)), slices.Max(took))
}
