package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/internal/pidfd"
)

const (
	// sampling is the pause between two looks at the machine's memory.
	sampling = 2 * time.Millisecond
	// kubeletLoop is how often a kubelet looks at its thresholds.
	kubeletLoop = 10 * time.Second
)

// What is measured of evictions.
const (
	hogEnds    = "memory is short → the hog ends"
	hogFreed   = "memory is short → all it had is free again"
	hogIgnores = "memory is short → a hog that ignores SIGTERM is killed"
)

// evictions measures them, with a hog that goes on SIGTERM, and one that doesn't.
func (s *side) evictions(ctx context.Context, r *results) error {
	record := r.times.When(true).Prefixed(s.Name + " ")
	for range s.bench.plan.n {
		ends, freed, err := s.evict(ctx, "")
		if err != nil {
			return err
		}
		record(hogEnds, ends)
		record(hogFreed, freed)
		testbed.Progress("  %s: %v, free again: %v", hogEnds, ends.Round(time.Millisecond), freed.Round(time.Millisecond))
		killed, _, err := s.evict(ctx, "--ignore-term ")
		if err != nil {
			return err
		}
		record(hogIgnores, killed)
		testbed.Progress("  %s: %v", hogIgnores, killed.Round(time.Millisecond))
	}
	return nil
}

// evict has a hog cross the threshold, and says how long it lived beyond, and until its
// memory was free.
func (s *side) evict(ctx context.Context, options string) (ends, freed time.Duration, err error) {
	hog, err := s.createHog(ctx, options)
	if err != nil {
		return 0, 0, err
	}
	pid, err := s.Floor.PID(ctx, s.MainOf(hog.Name))
	if err != nil {
		return 0, 0, err
	}
	main, err := pidfd.OpenPID(pid)
	if err != nil {
		return 0, 0, err
	}
	defer main.Close()
	// At any point between two looks of a kubelet.
	if err := testbed.Sleep(ctx, time.Second+rand.N(kubeletLoop)); err != nil {
		return 0, 0, err
	}
	if err := main.Signal(unix.SIGUSR1); err != nil {
		return 0, 0, err
	}
	crossed, err := s.bench.crossing(ctx, main)
	if err != nil {
		return 0, 0, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, testbed.Patience, errors.New("the hog still lives"))
	defer cancel()
	if err := awaitExiting(waiting, main); err != nil {
		return 0, 0, err
	}
	ends = time.Since(crossed)
	if err := main.Wait(waiting); err != nil {
		return 0, 0, err
	}
	return ends, time.Since(crossed), s.removeHog(ctx, hog)
}

// createHog makes a pod that takes memory on SIGUSR1: more than is left above the threshold
// now. It requests some memory, so that it is admitted while the node still has the
// condition of the hog before. It uses more than it requests from the beginning, so that
// it ranks first by old figures, too: the kubelet's are up to 15 seconds old.
func (s *side) createHog(ctx context.Context, options string) (*v1.Pod, error) {
	now, err := s.bench.awaitMargin(ctx)
	if err != nil {
		return nil, err
	}
	pod := newPod(s.Member.Name)
	pod.Name += "-hog"
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Mi")
	pod.Spec.Containers[0].Command = []string{"sh", "-c", fmt.Sprintf(
		"trap 'exec eat-memory %s%dMi' USR1; while :; do sleep 0.05; done", options, (now-s.bench.threshold+beyond)/mebi)}
	if err := s.Create(ctx, pod); err != nil {
		return nil, err
	}
	_, err = s.Pods.Await(ctx, "the hog to be ready", testbed.Ready(pod.Name))
	return pod, err
}

// crossing waits until less memory is available than the threshold, and says when there
// was enough for the last time.
func (b *bench) crossing(ctx context.Context, hog *pidfd.Process) (time.Time, error) {
	enough := time.Now()
	for {
		at := time.Now()
		now, err := available()
		if err != nil || now < b.threshold {
			return enough, err
		}
		enough = at
		select {
		case <-time.After(sampling):
		case <-hog.Ended():
			return enough, errors.New("the hog has ended before it crossed the threshold")
		case <-ctx.Done():
			return enough, context.Cause(ctx)
		}
	}
}

// removeHog makes sure that the hog was evicted, and waits until its pod is gone.
func (s *side) removeHog(ctx context.Context, hog *v1.Pod) error {
	_, err := s.Pods.Await(ctx, "the hog to have failed", func(pods map[string]*v1.Pod) bool {
		return pods[hog.Name] != nil && pods[hog.Name].Status.Phase == v1.PodFailed
	})
	if err != nil {
		return err
	}
	if status := s.Pods.Now(hog.Name).Status; status.Reason != "Evicted" {
		return fmt.Errorf("the hog was not evicted: %s %s", status.Reason, status.Message)
	}
	_, err = s.DeleteAll(ctx, []*v1.Pod{hog})
	return err
}

// awaitMargin waits until the machine is far from the threshold, and says how much memory
// is available then. Other programs may need some for a while.
func (b *bench) awaitMargin(ctx context.Context) (uint64, error) {
	for deadline := time.Now().Add(testbed.Patience); ; {
		now, err := available()
		if err != nil || now >= b.threshold+margin {
			return now, err
		}
		if time.Now().After(deadline) {
			return now, fmt.Errorf("%d MiB of memory are left, and the threshold is %d MiB: other programs of the machine take too much",
				now/mebi, b.threshold/mebi)
		}
		if err := testbed.Sleep(ctx, 50*sampling); err != nil {
			return now, err
		}
	}
}

// awaitExiting waits until a process runs no more: a signal has ended it, or it has
// ended itself. The kernel may then need a while to free its memory.
func awaitExiting(ctx context.Context, p *pidfd.Process) error {
	for {
		exiting, err := process.Exiting(p.PID)
		if err != nil || exiting {
			return err
		}
		select {
		case <-time.After(sampling):
		case <-p.Ended():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
