package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// floor is the name of the bare calls.
const floor = "floor"

// bench is what both sides are measured on.
type bench struct {
	*testbed.Testbed
	plan plan
	logs string // folder of the drivers' logs
	all  times.Samples
}

func open(ctx context.Context, p plan, log *slog.Logger) (b *bench, err error) {
	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: p.Lifepod, Keep: p.Keep, Log: log})
	if err != nil {
		return nil, err
	}
	b = &bench{Testbed: bed, plan: p}
	err = b.AddNodes(ctx, nil)
	if err == nil {
		err = b.createClaims(ctx)
	}
	if err == nil {
		b.logs, err = os.MkdirTemp("", "lifepod-bench-drivers-")
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close ends everything and removes all files.
func (b *bench) Close() error { return errors.Join(b.Testbed.Close(), os.RemoveAll(b.logs)) }

// Parts are those of one block: the bare calls come first.
func (b *bench) Parts(block int) []testbed.Part {
	parts := []testbed.Part{{Name: floor, Measure: func(ctx context.Context) error { return b.measureFloor(ctx) }}}
	for _, node := range b.Turns(block) {
		s := &side{Side: node, bench: b}
		parts = append(parts, testbed.Part{Name: node.Name, Measure: func(ctx context.Context) error {
			return s.Turn(ctx, func(ctx context.Context) error { return s.measure(ctx) })
		}})
	}
	return parts
}

// measureFloor is the turn of the bare calls.
func (b *bench) measureFloor(ctx context.Context) error {
	described, err := describeOwn()
	if err != nil {
		return err
	}
	b.Floor.Assigned = assignOwn
	for i := range b.plan.n + 1 {
		pod := testbed.BareOf(testbed.NewWorkerPod(""))
		if err = b.Floor.RestartAll(ctx, pod, b.all.When(i > 0).Prefixed(floor+" ")); err != nil {
			break
		}
	}
	return errors.Join(err, os.Remove(described))
}

// side is the kubelet or lifepod agent.
type side struct {
	*testbed.Side
	bench *bench
}

// measure is one turn.
func (s *side) measure(ctx context.Context) error {
	for _, k := range kinds {
		if err := s.measureKind(ctx, k); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// measureKind restarts workers with the devices of one driver, which runs meanwhile.
func (s *side) measureKind(ctx context.Context, k kind) (err error) {
	driver, err := k.run(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, driver.end(err != nil)) }()
	for i := range s.bench.plan.n + 1 {
		if err := s.restart(ctx, k, s.bench.all.When(i > 0)); err != nil {
			return err
		}
	}
	return nil
}

// restart measures one restart in place, and compares the devices of both processes.
func (s *side) restart(ctx context.Context, k kind, record times.Record) error {
	pod, err := s.begin(ctx, k)
	if err != nil {
		return err
	}
	before, err := s.devicesOf(ctx, pod.Name)
	if err != nil {
		return err
	}
	if n := k.count(before); n != 2 {
		return fmt.Errorf("the worker has %d devices in place of two: %q", n, before)
	}
	began, err := s.KillMain(ctx, pod.Name)
	if err != nil {
		return err
	}
	at, err := s.Pods.Await(ctx, "all containers to have restarted", testbed.Restarted(pod.Name))
	if err != nil {
		return err
	}
	record(s.Name+" "+k.name, at.Sub(began))
	after, err := s.devicesOf(ctx, pod.Name)
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return fmt.Errorf("the worker has other devices after the restart: %q, and %q before", after, before)
	}
	return s.Remove(ctx, pod)
}

// attempts is how many pods may be refused.
const attempts = 20

// begin creates a worker and waits until it is ready. A kubelet that has just started refuses pods for
// devices of pods that it has not seen to be gone yet.
func (s *side) begin(ctx context.Context, k kind) (*v1.Pod, error) {
	var refused v1.PodStatus
	for range attempts {
		pod := k.pod(s.Member.Name)
		if err := s.Create(ctx, pod); err != nil {
			return nil, err
		}
		_, err := s.Pods.Await(ctx, "a pod to be ready", func(pods map[string]*v1.Pod) bool {
			seen := pods[pod.Name]
			return seen != nil && (testbed.IsReady(seen) || seen.Status.Phase == v1.PodFailed)
		})
		if err != nil {
			return nil, err
		}
		if refused = s.Pods.Now(pod.Name).Status; refused.Phase != v1.PodFailed {
			return pod, nil
		}
		if err := errors.Join(s.Remove(ctx, pod), testbed.Sleep(ctx, time.Second)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("all pods are refused: %s: %s", refused.Reason, refused.Message)
}
