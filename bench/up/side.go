package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
)

type side interface {
	name() string
	// start begins the processes and returns when the API server can be asked; the
	// state of an earlier start is there, if that is what the side has.
	start(ctx context.Context) (*rest.Config, error)
	// ready returns when a node is ready to run pods.
	ready(ctx context.Context) error
	pids() []int
	stop(ctx context.Context) error
	// remove ends what runs and removes its state.
	remove(ctx context.Context) error
}

const (
	lifepodSide  = "lifepod"
	separateSide = "separate"
)

func measureSide(ctx context.Context, p plan, s side, t *table) error {
	for i := range p.starts + 1 {
		testbed.Progress("%s: start %d of %d", s.name(), i+1, p.starts+1)
		when := warm
		if i == 0 {
			when = cold
		}
		c, err := measureStart(ctx, s, t, when)
		if err != nil {
			return err
		}
		if i < p.starts {
			if err := c.removePods(ctx); err != nil {
				return err
			}
			if err := s.stop(ctx); err != nil {
				return err
			}
			continue
		}
		if err := measureRunning(ctx, p, s, c, t); err != nil {
			return err
		}
	}
	return nil
}

// measureStart is from the start of the process to the first pod that runs.
func measureStart(ctx context.Context, s side, t *table, when string) (*client, error) {
	began := time.Now()
	config, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx); err != nil {
		return nil, err
	}
	t.since(s, apiReady+when, began)
	if err := c.runFirst(ctx); err != nil {
		return nil, err
	}
	t.since(s, firstPod+when, began)
	return c, s.ready(ctx)
}

// settleTime is how long a cluster may take to come to rest.
const settleTime = 15 * time.Second

// measureRunning is of a cluster with its first pod.
func measureRunning(ctx context.Context, p plan, s side, c *client, t *table) error {
	testbed.Progress("%s: at rest", s.name())
	if err := testbed.Sleep(ctx, settleTime); err != nil {
		return err
	}
	load, err := process.LoadOf(func() error { return testbed.Sleep(ctx, p.idle) }, s.pids()...)
	if err != nil {
		return err
	}
	t.note(s.name(), idleCPU, load.CPU)
	t.memory(s, "1 pod", load)
	testbed.Progress("%s: %d pods", s.name(), p.pods)
	if err := c.runPods(ctx, p.pods); err != nil {
		return err
	}
	if load, err = process.LoadOf(func() error { return testbed.Sleep(ctx, settleTime) }, s.pids()...); err != nil {
		return err
	}
	t.memory(s, fmt.Sprintf("%d pods", p.pods), load)
	return c.removePods(ctx)
}
