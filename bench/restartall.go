package main

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// restartAll measures the restart of all containers: from the kill of main to
// the moment at which all run again.
func (b *bed) restartAll(ctx context.Context, record times.Record) error {
	l, err := b.begin(ctx, bare.Worker(bare.NewPod("bench")))
	if err != nil {
		return err
	}
	settle()
	began := time.Now()
	if err := b.restart(ctx, l); err != nil {
		return err
	}
	record("lifepod restart all", time.Since(began))
	return l.End(lifecycle.StopRequested{Force: true})
}
