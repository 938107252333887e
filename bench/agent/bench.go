package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
)

// floor is the name of the bare calls.
const floor = "floor"

// bench is what both sides are measured on, with a Service and its endpoints.
type bench struct {
	*testbed.Testbed
	plan   plan
	boards boards
	all    results
}

// boards are what the watches show, beside the pods.
type boards struct {
	endpoints *testbed.Board[*discoveryv1.EndpointSlice]
	leases    *testbed.Board[*coordinationv1.Lease]
	nodes     *testbed.Board[*v1.Node]
}

func open(ctx context.Context, p plan, log *slog.Logger) (*bench, error) {
	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: p.lifepod, Keep: p.keep, Log: log, Audit: true, Gates: p.gates})
	if err != nil {
		return nil, err
	}
	b := &bench{Testbed: bed, plan: p, all: results{
		loads: map[string][]process.Load{}, writes: map[string]map[string]counted{testbed.Kubelet: {}, testbed.Lifepod: {}}, created: map[string][]time.Duration{},
	}, boards: boards{
		testbed.NewBoard[*discoveryv1.EndpointSlice](), testbed.NewBoard[*coordinationv1.Lease](), testbed.NewBoard[*v1.Node](),
	}}
	err = b.AddNodes(ctx, map[string]any{"maxPods": max(250, 2*p.pods)})
	if err == nil {
		b.Beside(func(ctx context.Context) {
			b.boards.endpoints.Run(ctx, b.API.DiscoveryV1().EndpointSlices(testbed.Namespace).Watch)
		})
		b.Beside(func(ctx context.Context) {
			b.boards.leases.Run(ctx, b.API.CoordinationV1().Leases(v1.NamespaceNodeLease).Watch)
		})
		b.Beside(func(ctx context.Context) { b.boards.nodes.Run(ctx, b.API.CoreV1().Nodes().Watch) })
		err = b.createService(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// measure is a block: the bare calls come first, then both nodes in turn.
func (b *bench) measure(ctx context.Context, block int) error {
	turn := func(name string, measure func() error) error {
		testbed.Progress("block %d of %d: %s", block+1, b.plan.blocks, name)
		err := measure()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			return fmt.Errorf("block %d, %s: %w", block+1, name, err)
		}
		return nil
	}
	if err := turn(floor, func() error { return b.measureFloor(ctx, &b.all) }); err != nil {
		return err
	}
	for _, node := range b.Order(block) {
		s := &side{Side: node, plan: b.plan, boards: b.boards}
		if err := turn(node.Name, func() error { return s.measure(ctx, block, &b.all) }); err != nil {
			return err
		}
	}
	return nil
}
