package main

import (
	"context"
	"errors"
	"time"

	"github.com/lifepod/lifepod/bench/storage"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// volumes measures pods with a volume of a CSI driver each, created at once. One of them
// comes first, and is not counted.
func (s *side) volumes(ctx context.Context, record times.Record) error {
	testbed.Progress("  %d with volumes", s.plan.volumes)
	d, err := storage.New(s.Member.Name)
	if err != nil {
		return err
	}
	err = d.Serve(ctx, s.Member.RootDir())
	if err == nil {
		err = d.Crowd(ctx, s.Side, 1, func(string, time.Duration) {})
	}
	if err == nil {
		err = d.Crowd(ctx, s.Side, s.plan.volumes, record)
	}
	if err != nil {
		err = errors.Join(err, s.Clear())
	}
	return errors.Join(err, d.Close())
}

// floorVolumes has the driver and the runtime called for such pods, and nothing else done.
func (s *bench) floorVolumes(ctx context.Context, record times.Record) error {
	d, err := storage.New(floor)
	if err != nil {
		return err
	}
	return errors.Join(d.BareCrowd(ctx, s.Floor, s.plan.volumes, record), d.Close())
}
