package main

import (
	"context"
	"time"

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
	return s.runtime.One(ctx, bare.NewPod("bench"), record.Prefixed(s.name+" "))
}

func (s bareSide) restartAll(ctx context.Context, record times.Record) error {
	return s.runtime.RestartAll(ctx, bare.Worker(bare.NewPod("bench")), record.Prefixed(s.name+" "))
}

func (s bareSide) many(ctx context.Context, record times.Record) error {
	return s.runtime.AtOnce(ctx, s.bed.numbered(atOnce), record.Prefixed(s.name+" "))
}

// runs measures the calls for pods that run true, all at once, until nothing is left of them.
func (s bareSide) runs(what string, pods int) func(context.Context, times.Record) error {
	return func(ctx context.Context, record times.Record) error {
		all := s.bed.numbered(pods)
		for _, pod := range all {
			pod.Spec.Containers[0].Command = []string{"true"}
		}
		began := time.Now()
		if err := s.runtime.Lives(ctx, all); err != nil {
			return err
		}
		record(s.name+" "+what, time.Since(began))
		return nil
	}
}

// execs makes the execs of a probe, on a pod of its own.
func (s bareSide) execs(ctx context.Context, record times.Record) error {
	return s.runtime.Execs(ctx, bare.NewPod("bench"), execsEach, record.Prefixed(s.name+" "))
}

// execsEach are made one after the other.
const execsEach = 50
