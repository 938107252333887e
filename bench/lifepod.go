package main

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/life"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// lifepod takes the same pod through the same life with the agent's worker.
func (b *bed) lifepod(ctx context.Context, record times.Record) error {
	began := time.Now()
	l, err := b.begin(ctx, bare.NewPod("bench"))
	if err != nil {
		return err
	}
	record("lifepod create", time.Since(began))
	settle()

	began = time.Now()
	if err := b.restart(ctx, l); err != nil {
		return err
	}
	record("lifepod restart", time.Since(began))
	settle()

	began = time.Now()
	if err := l.End(lifecycle.StopRequested{Because: "bench"}); err != nil {
		return err
	}
	record("lifepod delete", time.Since(began))
	return nil
}

func (b *bed) begin(ctx context.Context, pod *v1.Pod) (*life.Life, error) {
	return life.Begin(ctx, b.node, b.events, pod)
}

// restart kills the process of the main container and returns when the pod is ready again.
func (b *bed) restart(ctx context.Context, l *life.Life) error {
	if err := b.floor.Kill(ctx, strings.TrimPrefix(l.First.ContainerStatuses[0].ContainerID, "containerd://")); err != nil {
		return err
	}
	_, err := l.Await(func(p v1.PodStatus) bool { return life.Ready(p) && p.ContainerStatuses[0].RestartCount == 1 })
	return err
}

// settle lets what the last call still stirs come to rest, on both sides alike.
func settle() { time.Sleep(50 * time.Millisecond) }
