package main

import (
	"context"

	"github.com/lifepod/lifepod/bench/times"
)

// floorOne makes the bare calls that the pod of lifepod needs.
func (b *bed) floorOne(ctx context.Context, record times.Record) error {
	return b.floor.One(ctx, b.pod(), record.Prefixed("floor "))
}

// floorRestartAll makes those that the restart of all containers needs.
func (b *bed) floorRestartAll(ctx context.Context, record times.Record) error {
	return b.floor.RestartAll(ctx, b.workerPod(), record.Prefixed("floor "))
}
