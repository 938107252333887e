package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// atOnce is how many pods are created, and deleted, at the same time.
const atOnce = 50

// many creates pods at once and deletes them at once.
func (b *bed) many(ctx context.Context, record times.Record) error {
	lives, pods := make([]*life, atOnce), b.numbered(atOnce)
	began := time.Now()
	if err := bare.Together(atOnce, atOnce, func(i int) (err error) { lives[i], err = b.begin(ctx, pods[i]); return err }); err != nil {
		return errors.Join(err, bare.Together(atOnce, atOnce, func(i int) error { return lives[i].end(lifecycle.StopRequested{Force: true}) }))
	}
	record(fmt.Sprintf("lifepod %d created at once", atOnce), time.Since(began))
	settle()
	began = time.Now()
	if err := bare.Together(atOnce, atOnce, func(i int) error { return lives[i].end(lifecycle.StopRequested{}) }); err != nil {
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

// life is a pod that lifepod runs.
type life struct {
	bed      *bed
	worker   *worker.Worker
	statuses *statuses
	first    v1.PodStatus // that was ready
	ended    chan error
}

// begin runs a pod until it is ready.
func (b *bed) begin(ctx context.Context, pod *v1.Pod) (*life, error) {
	l := &life{bed: b, statuses: newStatuses(), ended: make(chan error, 1)}
	l.worker = b.newWorker(pod, l.statuses)
	b.events.Add(l.worker)
	go func() { l.ended <- l.worker.Run(ctx) }()
	var err error
	l.first, err = l.statuses.await(ready)
	return l, err
}

// restart kills the process of the main container and returns when the pod is ready again.
func (l *life) restart(ctx context.Context) error {
	if err := l.bed.floor.Kill(ctx, strings.TrimPrefix(l.first.ContainerStatuses[0].ContainerID, "containerd://")); err != nil {
		return err
	}
	_, err := l.statuses.await(func(p v1.PodStatus) bool { return ready(p) && p.ContainerStatuses[0].RestartCount == 1 })
	return err
}

func (l *life) end(request lifecycle.StopRequested) error {
	defer l.bed.events.Remove(l.worker)
	l.worker.Stop(request)
	return <-l.ended
}
