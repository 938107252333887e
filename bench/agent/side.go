package main

import (
	"context"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// side is the kubelet or lifepod agent.
type side struct {
	*testbed.Side
	plan   plan
	boards boards
}

// measure is one turn.
func (s *side) measure(ctx context.Context, block int, r *results) error {
	return s.RunWhile(ctx, func(ctx context.Context) error {
		if err := s.comebacks(ctx, r.times.When(true).Prefixed(s.Name+" ")); err != nil {
			return err
		}
		err := s.measureSingles(ctx, r)
		if err == nil {
			err = s.measureMany(ctx, r)
		}
		if err == nil && block == 0 { // counts need no repetition
			err = s.countWrites(ctx, r)
		}
		return err
	})
}

// measureSingles measures what happens to one pod at a time.
func (s *side) measureSingles(ctx context.Context, r *results) error {
	for i := range s.plan.n + 1 {
		record := r.times.When(i > 0).Prefixed(s.Name + " ")
		for _, measure := range []func(context.Context, times.Record) error{s.one, s.restartAll} {
			if err := measure(ctx, record); err != nil {
				return err
			}
		}
	}
	return s.readiness(ctx, r.times.When(true).Prefixed(s.Name+" "))
}

// measureMany measures pods that are created at once.
func (s *side) measureMany(ctx context.Context, r *results) error {
	if s.plan.pods == 0 {
		return nil
	}
	return s.crowd(ctx, r)
}

// one measures create, restart and delete.
func (s *side) one(ctx context.Context, record times.Record) error {
	pod := testbed.NewPod(s.Member.Name)
	began := time.Now()
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	at, err := s.Pods.Await(ctx, "a pod to be ready", testbed.Ready(pod.Name))
	if err != nil {
		return err
	}
	record("create", at.Sub(began))

	began, err = s.KillMain(ctx, pod.Name)
	if err != nil {
		return err
	}
	if at, err = s.Pods.Await(ctx, "the next instance of a container", testbed.Restarted(pod.Name)); err != nil {
		return err
	}
	record("restart", at.Sub(began))

	s.Pause(ctx)
	began = time.Now()
	if err := s.Delete(ctx, pod); err != nil {
		return err
	}
	if at, err = s.Pods.Await(ctx, "the end of a pod", testbed.Gone(pod.Name)); err != nil {
		return err
	}
	record("delete", at.Sub(began))
	return nil
}

func (s *side) restartAll(ctx context.Context, record times.Record) error {
	pod := testbed.NewWorkerPod(s.Member.Name)
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	if _, err := s.Pods.Await(ctx, "a pod to be ready", testbed.Ready(pod.Name)); err != nil {
		return err
	}
	began, err := s.KillMain(ctx, pod.Name)
	if err != nil {
		return err
	}
	at, err := s.Pods.Await(ctx, "all containers to have restarted", testbed.Restarted(pod.Name))
	if err != nil {
		return err
	}
	record("restart all", at.Sub(began))
	return s.Remove(ctx, pod)
}
