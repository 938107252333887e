package main

import (
	"context"
	"errors"
	"log/slog"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/lifepod/lifepod/bench/testbed"
)

// floor is the name of the bare calls.
const floor = "floor"

// bench is what both sides are measured on, with a Service and its endpoints.
type bench struct {
	*testbed.Testbed
	plan      plan
	endpoints *testbed.Board[*discoveryv1.EndpointSlice]
}

func open(ctx context.Context, p plan, log *slog.Logger) (*bench, error) {
	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: p.lifepod, Keep: p.keep, Log: log})
	if err != nil {
		return nil, err
	}
	b := &bench{Testbed: bed, plan: p, endpoints: testbed.NewBoard[*discoveryv1.EndpointSlice]()}
	err = b.AddNodes(ctx, map[string]any{"maxPods": max(250, 2*p.pods)})
	if err == nil {
		b.Beside(func(ctx context.Context) {
			b.endpoints.Run(ctx, b.API.DiscoveryV1().EndpointSlices(testbed.Namespace).Watch)
		})
		err = b.createService(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// parts are the parts of one block: the bare calls come first.
func (b *bench) parts(block int, all *results) []testbed.Part {
	parts := []testbed.Part{{Name: floor, Measure: func(ctx context.Context) error { return b.measureFloor(ctx, all) }}}
	for _, node := range b.Turns(block) {
		s := &side{Side: node, plan: b.plan, endpoints: b.endpoints}
		parts = append(parts, testbed.Part{Name: node.Name, Measure: func(ctx context.Context) error { return s.measure(ctx, all) }})
	}
	return parts
}
