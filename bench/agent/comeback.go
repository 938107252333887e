package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/e2e/machine"
)

// What is measured of a node that comes back.
const (
	leaseBack  = "lease back"
	statusBack = "status back"
)

// comebacks kills the node's process and starts it again.
func (s *side) comebacks(ctx context.Context, record times.Record) error {
	for range s.plan.n {
		if err := s.comeback(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

// comeback measures how long after its start the process has renewed the node's Lease and
// written its conditions anew.
func (s *side) comeback(ctx context.Context, record times.Record) error {
	s.Pause(ctx)
	if err := s.Member.Kill(); err != nil {
		return err
	}
	before := heartbeat(s.boards.nodes.Now(s.Member.Name))
	// Heartbeats are written in seconds: one of the same second would not be a new one.
	if err := testbed.Sleep(ctx, time.Until(before.Add(time.Second))); err != nil {
		return err
	}
	type sight struct {
		what string
		at   time.Time
		err  error
	}
	sights := make(chan sight, 2)
	began := time.Now()
	go func() {
		at, err := s.boards.leases.Await(ctx, "the Lease to be renewed", renewed(s.Member.Name, began))
		sights <- sight{leaseBack, at, err}
	}()
	go func() {
		at, err := s.boards.nodes.Await(ctx, "new conditions of the node", heartbeatSince(s.Member.Name, before))
		sights <- sight{statusBack, at, err}
	}()
	if err := s.Member.Run(); err != nil {
		return err
	}
	for range cap(sights) {
		seen := <-sights
		if seen.err != nil {
			return seen.err
		}
		record(seen.what, seen.at.Sub(began))
	}
	return s.Member.AwaitHealthy(ctx)
}

// renewed wants a node's Lease to be renewed after a time.
func renewed(name string, after time.Time) func(map[string]*coordinationv1.Lease) bool {
	return func(leases map[string]*coordinationv1.Lease) bool {
		lease := leases[name]
		return lease != nil && lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(after)
	}
}

// heartbeatSince wants a node to be Ready with a newer heartbeat.
func heartbeatSince(name string, before time.Time) func(map[string]*v1.Node) bool {
	return func(nodes map[string]*v1.Node) bool {
		return nodes[name] != nil && machine.NodeReady(nodes[name]).Status == v1.ConditionTrue && heartbeat(nodes[name]).After(before)
	}
}

// heartbeat is when the node last reported whether it is Ready.
func heartbeat(node *v1.Node) time.Time {
	if node == nil {
		return time.Time{}
	}
	return machine.NodeReady(node).LastHeartbeatTime.Time
}
