package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"

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
func (s *side) measure(ctx context.Context, r *results) error {
	return s.Turn(ctx, func(ctx context.Context) error {
		if err := s.comebacks(ctx, r.times.When(true).Prefixed(s.Name+" ")); err != nil {
			return err
		}
		profiled := make(chan error, 1)
		go func() { profiled <- s.profileWork(ctx) }()
		return errors.Join(s.measureAll(ctx, r), <-profiled)
	})
}

func (s *side) measureAll(ctx context.Context, r *results) error {
	for i := range s.plan.n + 1 {
		record := r.times.When(i > 0).Prefixed(s.Name + " ")
		for _, measure := range []func(context.Context, times.Record) error{s.one, s.restartAll} {
			if err := measure(ctx, record); err != nil {
				return err
			}
		}
	}
	if err := s.readiness(ctx, r.times.When(true).Prefixed(s.Name+" ")); err != nil {
		return err
	}
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

	began, err = s.kill(ctx, pod.Name)
	if err != nil {
		return err
	}
	if at, err = s.Pods.Await(ctx, "the next instance of a container", restarted(pod.Name)); err != nil {
		return err
	}
	record("restart", at.Sub(began))

	s.pause(ctx)
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
	pod := newWorkerPod(s.Member.Name)
	if err := s.Create(ctx, pod); err != nil {
		return err
	}
	if _, err := s.Pods.Await(ctx, "a pod to be ready", testbed.Ready(pod.Name)); err != nil {
		return err
	}
	began, err := s.kill(ctx, pod.Name)
	if err != nil {
		return err
	}
	at, err := s.Pods.Await(ctx, "all containers to have restarted", restarted(pod.Name))
	if err != nil {
		return err
	}
	record("restart all", at.Sub(began))
	return s.remove(ctx, pod)
}

// remove deletes a pod whose end nobody measures.
func (s *side) remove(ctx context.Context, pod *v1.Pod) error {
	if err := s.Delete(ctx, pod); err != nil {
		return err
	}
	_, err := s.Pods.Await(ctx, "the end of a pod", testbed.Gone(pod.Name))
	return err
}

// kill kills main's process after a pause, and says when.
func (s *side) kill(ctx context.Context, pod string) (time.Time, error) {
	s.pause(ctx)
	id := s.MainOf(pod)
	began := time.Now()
	return began, s.Floor.Kill(ctx, id)
}

// pause is of random length: whoever looks at containers once a second is as often
// met at the end of that second as at its beginning.
func (s *side) pause(ctx context.Context) {
	select {
	case <-time.After(200*time.Millisecond + rand.N(time.Second)):
	case <-ctx.Done():
	}
}
