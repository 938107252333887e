package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/jobset/agents"
	"github.com/lifepod/lifepod/e2e/member"
)

// side is who restarts the pods, and where they are.
type side struct {
	title  string
	agents bool // each pod has one
	nodes  []*member.Member
}

// startNodes starts the nodes of lifepod.
func (b *bench) startNodes(ctx context.Context) error {
	var nodes []*member.Member
	for range b.plan.nodes {
		node, err := b.startNode(ctx, member.Config{Plane: b.plane, Program: b.plan.lifepod})
		if err != nil {
			return err
		}
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		if err := node.AwaitReady(ctx); err != nil {
			return err
		}
	}
	b.sides = []side{{"lifepod", false, nodes}, {"lifepod, JobSet's agents", true, nodes}}
	return nil
}

func (b *bench) startNode(ctx context.Context, config member.Config) (*member.Member, error) {
	node, err := member.Start(ctx, config)
	if err == nil {
		b.onClose(node.Close)
	}
	return node, err
}

// startKubelet starts a node of the kubelet, with the runtime that lifepod carries. It comes last: the pods without agents
// may be on any node.
func (b *bench) startKubelet(ctx context.Context) (s side, err error) {
	program := b.plane.Binary("kubelet")
	if _, err := os.Stat(program); err != nil {
		return s, fmt.Errorf("%w: run `make kubelet` first", err)
	}
	testbed.Progress("starting a node of the kubelet")
	runtime, err := member.StartRuntime(ctx, b.plan.lifepod)
	if err != nil {
		return s, err
	}
	b.onClose(runtime.Close)
	node, err := b.startNode(ctx, member.Config{
		Plane: b.plane, Program: program, Kubelet: map[string]any{"containerRuntimeEndpoint": runtime.Endpoint()},
	})
	if err != nil {
		return s, err
	}
	return side{"kubelet, JobSet's agents", true, []*member.Member{node}}, node.AwaitReady(ctx)
}

// serveAgents lets pods have agents.
func (b *bench) serveAgents(ctx context.Context) error {
	address, err := b.sides[0].nodes[0].Address(ctx)
	if err != nil {
		return err
	}
	if b.agents, err = agents.Serve(agents.Config{Plane: b.plane, Address: address, Module: b.controller.Module()}); err != nil {
		return err
	}
	b.onClose(b.agents.Close)
	return b.agents.Allow(ctx, testbed.Namespace)
}

// manifestFor is the JobSet of a side.
func (b *bench) manifestFor(s side) (string, error) {
	if !s.agents {
		return b.manifest(), nil
	}
	var names []string
	for _, node := range s.nodes {
		names = append(names, node.Name)
	}
	return b.agents.Into(b.manifest(), names)
}

// measure creates a side's JobSet, lets it restart, and deletes it.
func (b *bench) measure(ctx context.Context, s side) (r results, err error) {
	testbed.Progress("%s: creating a JobSet of %d pods", s.title, b.size())
	r, err = b.measureRestarts(ctx, s)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", s.title, err), b.shown())
	}
	return r, errors.Join(err, b.deleteAll())
}

func (b *bench) measureRestarts(ctx context.Context, s side) (r results, err error) {
	r = results{side: s, writes: map[string]int{}}
	manifest, err := b.manifestFor(s)
	if err != nil {
		return r, err
	}
	if _, err := b.plane.Kubectl(ctx, manifest, "apply", "--filename=-"); err != nil {
		return r, err
	}
	at, _, err := b.awaitAttempt(ctx, standing{})
	if err != nil {
		return r, err
	}
	if err := b.pipes.make(at.names); err != nil {
		return r, err
	}
	if err := testbed.Sleep(ctx, settleTime); err != nil {
		return r, err
	}
	for round := range b.plan.n + 1 {
		testbed.Progress("%s: round %d of %d", s.title, round, b.plan.n)
		took, writes, err := b.measureRestart(ctx, round, &at)
		if err != nil {
			return r, fmt.Errorf("round %d: %w", round, err)
		}
		if round > 0 {
			r.add(took, writes)
		}
	}
	r.load = loadAverage()
	return r, nil
}

// measureAll measures each side, and prints what there is of them, before an error, too.
func (b *bench) measureAll(ctx context.Context) (err error) {
	var all []results
	defer func() { print(b.plan, all) }()
	for _, s := range b.sides {
		r, err := b.measure(ctx, s)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	if !b.plan.kubelet {
		return nil
	}
	s, err := b.startKubelet(ctx)
	if err != nil {
		return err
	}
	r, err := b.measure(ctx, s)
	if err == nil {
		all = append(all, r)
	}
	return err
}
