package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"

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
