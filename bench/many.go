package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/life"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// atOnce is how many pods are created, and deleted, at the same time.
const atOnce = 50

// many creates pods at once and deletes them at once.
func (b *bed) many(ctx context.Context, record times.Record) error {
	lives, pods := make([]*life.Life, atOnce), b.numbered(atOnce)
	began := time.Now()
	if err := bare.Together(atOnce, atOnce, func(i int) (err error) { lives[i], err = b.begin(ctx, pods[i]); return err }); err != nil {
		return errors.Join(err, bare.Together(atOnce, atOnce, func(i int) error { return lives[i].End(lifecycle.StopRequested{Force: true}) }))
	}
	record(fmt.Sprintf("lifepod %d created at once", atOnce), time.Since(began))
	settle()
	began = time.Now()
	if err := bare.Together(atOnce, atOnce, func(i int) error { return lives[i].End(lifecycle.StopRequested{}) }); err != nil {
		return err
	}
	record(fmt.Sprintf("lifepod %d deleted at once", atOnce), time.Since(began))
	return nil
}

func (b *bed) numbered(count int) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = bare.NewPod(fmt.Sprintf("bench-%d", i))
	}
	return pods
}
