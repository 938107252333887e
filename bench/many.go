package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/lifecycle"
)

// atOnce is how many pods are created, and deleted, at the same time.
const atOnce = 30

// together does something for each of n pods at the same time.
func together(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// many creates pods at once and deletes them at once.
func (b *bed) many(ctx context.Context, record record) error {
	lives := make([]*life, atOnce)
	began := time.Now()
	if err := together(atOnce, func(i int) (err error) { lives[i], err = b.begin(ctx, b.numbered(i)); return err }); err != nil {
		return err
	}
	record("lifepod 30 created at once", time.Since(began))
	settle()
	began = time.Now()
	if err := together(atOnce, func(i int) error { return lives[i].end(lifecycle.StopRequested{}) }); err != nil {
		return err
	}
	record("lifepod 30 deleted at once", time.Since(began))
	return nil
}

func (b *bed) numbered(i int) *v1.Pod {
	pod := b.pod()
	pod.Name = fmt.Sprintf("bench-%d", i)
	return pod
}

// life is a pod that lifepod runs.
type life struct {
	bed      *bed
	worker   *agent.Worker
	statuses *statuses
	ended    chan error
}

// begin runs a pod until it is ready.
func (b *bed) begin(ctx context.Context, pod *v1.Pod) (*life, error) {
	l := &life{bed: b, statuses: newStatuses(), ended: make(chan error, 1)}
	l.worker = b.newWorker(pod, l.statuses)
	b.events.Add(l.worker)
	go func() { l.ended <- l.worker.Run(ctx) }()
	_, err := l.statuses.await(ready)
	return l, err
}

func (l *life) end(request lifecycle.StopRequested) error {
	defer l.bed.events.Remove(l.worker)
	l.worker.Stop(request)
	return <-l.ended
}

// floorMany makes the same pods of bare calls, with all of them under way at once.
func (b *bed) floorMany(ctx context.Context, record record) error {
	pods, ids := make([]*floorPod, atOnce), make([]string, atOnce)
	began := time.Now()
	err := together(atOnce, func(i int) (err error) {
		if pods[i], err = b.newFloorPod(ctx, b.numbered(i)); err != nil {
			return err
		}
		ids[i], err = pods[i].start(ctx, &pods[i].pod.Spec.Containers[0], 0)
		return err
	})
	if err != nil {
		return err
	}
	record("floor 30 created at once", time.Since(began))
	settle()
	began = time.Now()
	err = together(atOnce, func(i int) error {
		_, err := b.client.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: ids[i], Timeout: 30})
		return errors.Join(err, pods[i].remove(ctx))
	})
	if err != nil {
		return err
	}
	record("floor 30 deleted at once", time.Since(began))
	for _, p := range pods {
		_ = os.RemoveAll(b.node.Config.PodLogDirectory(p.pod)) // a temporary folder's
	}
	return nil
}
