package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/e2e/member"
)

const (
	kubelet = "kubelet"
	lifepod = "lifepod"
	floor   = "floor"
)

// side is the kubelet or lifepod agent.
type side struct {
	*testbed
	name   string
	member *member.Member
}

// part is one side's turn.
type part struct {
	name    string
	measure func(context.Context, *results) error
}

// turns are those of one block: the floor, then both sides, another one first each
// time.
func (s *testbed) turns(block int) []part {
	parts := []part{{floor, s.measureFloor}}
	for _, side := range s.sides {
		parts = append(parts, part{side.name, side.measure})
	}
	if block%2 == 1 {
		slices.Reverse(parts[1:])
	}
	return parts
}

// addSides makes a node of both, and stops it until it has its turn.
func (s *testbed) addSides(ctx context.Context) error {
	ours, err := filepath.Abs(s.lifepod)
	if err != nil {
		return err
	}
	for _, program := range []string{s.plane.Binary(kubelet), ours} {
		name := filepath.Base(program)
		configuration := map[string]any{
			"containerRuntimeEndpoint": s.runtime.Endpoint(),
			"maxPods":                  max(250, 2*s.plan.pods),
		}
		if name == lifepod {
			configuration["cgroupRoot"] = "/" + filepath.Base(s.root)
		}
		m, err := member.Start(ctx, member.Config{Plane: s.plane, Program: program, Name: name, Kubelet: configuration})
		if err != nil {
			return err
		}
		side := &side{testbed: s, name: name, member: m}
		s.onClose(side.close)
		if err := errors.Join(m.AwaitReady(ctx), m.Stop()); err != nil {
			return err
		}
		s.sides = append(s.sides, side)
	}
	return nil
}

// close ends the node with all that is left of it.
func (s *side) close() error {
	var errs []error
	if s.keep != "" {
		text, err := os.ReadFile(s.member.LogFile())
		errs = append(errs, err, os.MkdirAll(s.keep, 0o755), os.WriteFile(filepath.Join(s.keep, s.name+".log"), text, 0o644))
	}
	if !s.member.Process().HasEnded() { // its turn was broken off
		errs = append(errs, within(patience, s.removeAll), s.member.Stop())
	}
	errs = append(errs, within(patience, s.sweep))
	return errors.Join(append(errs, s.member.Close())...)
}

// measure is one turn.
func (s *side) measure(ctx context.Context, r *results) error {
	err := s.member.Run()
	if err == nil {
		err = s.member.AwaitHealthy(ctx)
	}
	if err == nil {
		profiled := make(chan error, 1)
		go func() { profiled <- s.profileWork(ctx) }()
		err = errors.Join(s.measureAll(ctx, r), <-profiled)
	}
	if err != nil {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, s.member.Process().LastLines(30))
	}
	return errors.Join(s.member.Stop(), s.sweep(ctx))
}

func (s *side) measureAll(ctx context.Context, r *results) error {
	for i := range s.n + 1 {
		record := r.times.When(i > 0).Prefixed(s.name + " ")
		for _, measure := range []func(context.Context, times.Record) error{s.one, s.restartAll} {
			if err := measure(ctx, record); err != nil {
				return err
			}
		}
	}
	if err := s.readiness(ctx, r.times.When(true).Prefixed(s.name+" ")); err != nil {
		return err
	}
	if s.plan.pods == 0 {
		return nil
	}
	return s.crowd(ctx, r)
}

// one measures create, restart and delete.
func (s *side) one(ctx context.Context, record times.Record) error {
	pod := newPod(s.member.Name)
	began := time.Now()
	if err := s.create(ctx, pod); err != nil {
		return err
	}
	at, err := s.pods.await(ctx, "a pod to be ready", ready(pod.Name))
	if err != nil {
		return err
	}
	record("create", at.Sub(began))

	began, err = s.kill(ctx, pod.Name)
	if err != nil {
		return err
	}
	if at, err = s.pods.await(ctx, "the next instance of a container", restarted(pod.Name)); err != nil {
		return err
	}
	record("restart", at.Sub(began))

	s.pause(ctx)
	began = time.Now()
	if err := s.delete(ctx, pod); err != nil {
		return err
	}
	if at, err = s.pods.await(ctx, "the end of a pod", gone(pod.Name)); err != nil {
		return err
	}
	record("delete", at.Sub(began))
	return nil
}

func (s *side) restartAll(ctx context.Context, record times.Record) error {
	pod := newWorkerPod(s.member.Name)
	if err := s.create(ctx, pod); err != nil {
		return err
	}
	if _, err := s.pods.await(ctx, "a pod to be ready", ready(pod.Name)); err != nil {
		return err
	}
	began, err := s.kill(ctx, pod.Name)
	if err != nil {
		return err
	}
	at, err := s.pods.await(ctx, "all containers to have restarted", restarted(pod.Name))
	if err != nil {
		return err
	}
	record("restart all", at.Sub(began))
	return s.remove(ctx, pod)
}

func (s *side) create(ctx context.Context, pod *v1.Pod) error {
	_, err := s.api.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (s *side) delete(ctx context.Context, pod *v1.Pod) error {
	return s.api.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
}

// remove deletes a pod whose end nobody measures.
func (s *side) remove(ctx context.Context, pod *v1.Pod) error {
	if err := s.delete(ctx, pod); err != nil {
		return err
	}
	_, err := s.pods.await(ctx, "the end of a pod", gone(pod.Name))
	return err
}

// kill kills main's process after a pause, and says when.
func (s *side) kill(ctx context.Context, pod string) (time.Time, error) {
	s.pause(ctx)
	id := strings.TrimPrefix(s.pods.now(pod).Status.ContainerStatuses[0].ContainerID, "containerd://")
	began := time.Now()
	return began, s.floor.Kill(ctx, id)
}

// pause is of random length: whoever looks at containers once a second is as often
// met at the end of that second as at its beginning.
func (s *side) pause(ctx context.Context) {
	select {
	case <-time.After(200*time.Millisecond + rand.N(time.Second)):
	case <-ctx.Done():
	}
}
