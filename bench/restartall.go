package main

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/lifecycle"
)

// workerPod is a training pod in small: a set-up that ends at once, a sidecar,
// and a main container whose death by a signal restarts all of them.
func (b *bed) workerPod() *v1.Pod {
	pod := b.pod()
	container := func(name string, command ...string) v1.Container {
		c := *pod.Spec.Containers[0].DeepCopy()
		c.Name, c.Command = name, command
		return c
	}
	setup, watcher, main := container("setup", "true"), container("watcher", "sleep", "infinity"), container("main", "sleep", "infinity")
	always, never := v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever
	watcher.RestartPolicy, main.RestartPolicy = &always, &never
	main.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{137}},
	}}
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.InitContainers, pod.Spec.Containers = []v1.Container{setup, watcher}, []v1.Container{main}
	return pod
}

// restartAll measures the restart of all containers: from the kill of main to
// the moment at which all run again.
func (b *bed) restartAll(ctx context.Context, record times.Record) error {
	s := newStatuses()
	worker := b.newWorker(b.workerPod(), s)
	b.events.Add(worker)
	defer b.events.Remove(worker)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	first, err := s.await(ready)
	if err != nil {
		return err
	}
	settle()
	began := time.Now()
	if err := b.floor.Kill(ctx, strings.TrimPrefix(first.ContainerStatuses[0].ContainerID, "containerd://")); err != nil {
		return err
	}
	if _, err := s.await(func(p v1.PodStatus) bool { return ready(p) && p.ContainerStatuses[0].RestartCount == 1 }); err != nil {
		return err
	}
	record("lifepod restart all", time.Since(began))
	worker.Stop(lifecycle.StopRequested{Force: true})
	return <-ended
}
