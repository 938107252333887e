package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/stock"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/worker"
)

// bed is what all sides measure on: one runtime and one node, an event stream each, and the stock
// runtime beside them.
type bed struct {
	node   *worker.Engine
	events *worker.Events
	floor  *bare.Runtime
	stock  *bare.Runtime // the same calls on the runtime as upstream ships it

	stop    context.CancelFunc
	streams sync.WaitGroup
}

func newBed(ctx context.Context, p *stock.Pair, log *slog.Logger) (*bed, error) {
	node, err := host.NewNode(host.NodeConfig{Runtime: p.Client, Root: p.Carried.Paths().Root,
		CgroupParent: strings.TrimPrefix(p.Carried.CgroupParent(), "/"), IPAMDir: p.Carried.Paths().IPAM(), Log: log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &bed{node: node, events: node.Events(nil), stop: cancel}
	b.floor = &bare.Runtime{Client: p.Client, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: log}
	b.stock = &bare.Runtime{Client: p.Stock.Client, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: log}
	b.streams.Go(func() { b.events.Run(ctx) })
	b.streams.Go(func() { b.floor.Run(ctx) })
	b.streams.Go(func() { b.stock.Run(ctx) })
	return b, nil
}

func (b *bed) close() {
	b.stop()
	b.streams.Wait()
}

// newWorker is a worker that saves its pod's state, as that of lifepod run does.
func (b *bed) newWorker(pod *v1.Pod, s worker.Sink) *worker.Worker {
	w := b.node.NewWorker(pod, s)
	w.Remember(worker.NewCheckpointFile(filepath.Join(filepath.Dir(b.node.Folders.Pods), string(pod.UID)+".checkpoint")))
	return w
}

func (b *bed) pod() *v1.Pod { return bare.NewPod("bench") }
