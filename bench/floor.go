package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/times"
)

// bareSide makes the bare calls that the pods of lifepod need, on one of the runtimes.
type bareSide struct {
	name    string
	bed     *bed
	runtime *bare.Runtime
}

func (s bareSide) one(ctx context.Context, record times.Record) error {
	return s.runtime.One(ctx, s.bed.pod(), record.Prefixed(s.name+" "))
}

func (s bareSide) restartAll(ctx context.Context, record times.Record) error {
	return s.runtime.RestartAll(ctx, bare.Worker(s.bed.pod()), record.Prefixed(s.name+" "))
}

func (s bareSide) many(ctx context.Context, record times.Record) error {
	pods := make([]*v1.Pod, atOnce)
	for i := range pods {
		pods[i] = s.bed.numbered(i)
	}
	return s.runtime.AtOnce(ctx, pods, record.Prefixed(s.name+" "))
}

// execs makes the execs of a probe, on a pod of its own.
func (s bareSide) execs(ctx context.Context, record times.Record) error {
	return s.runtime.Execs(ctx, s.bed.pod(), execsEach, record.Prefixed(s.name+" "))
}

// execsEach are made one after the other.
const execsEach = 50
