package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent/criconfig"
	"github.com/lifepod/lifepod/agent/environment"
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
func (b *bed) restartAll(ctx context.Context, record record) error {
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
	if err := b.kill(ctx, strings.TrimPrefix(first.ContainerStatuses[0].ContainerID, "containerd://")); err != nil {
		return err
	}
	if _, err := s.await(func(p v1.PodStatus) bool { return ready(p) && p.ContainerStatuses[0].RestartCount == 1 }); err != nil {
		return err
	}
	record("lifepod restart all", time.Since(began))
	worker.Stop(lifecycle.StopRequested{Force: true})
	return <-ended
}

// floorPod is a pod made of bare calls, with several containers.
type floorPod struct {
	*bed
	pod     *v1.Pod
	config  *runtimeapi.PodSandboxConfig
	sandbox string
}

func (b *bed) newFloorPod(ctx context.Context, pod *v1.Pod) (*floorPod, error) {
	p := &floorPod{bed: b, pod: pod, config: criconfig.Sandbox(criconfig.SandboxInput{
		Node: b.node.Config, Pod: pod, CgroupParent: b.node.Cgroups.Path(pod), Hostname: "bench",
	})}
	sandbox, err := b.client.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: p.config})
	p.sandbox = sandbox.GetPodSandboxId()
	return p, err
}

// start creates and starts one instance of a container.
func (p *floorPod) start(ctx context.Context, c *v1.Container, attempt int) (string, error) {
	if err := os.MkdirAll(filepath.Join(p.node.Config.PodLogDirectory(p.pod), c.Name), 0o755); err != nil {
		return "", err
	}
	config, err := criconfig.Container(criconfig.ContainerInput{
		Node: p.node.Config, Pod: p.pod, Container: c, RestartCount: attempt,
		ImageRef: c.Image, Environment: environment.Result{Command: c.Command},
	})
	if err != nil {
		return "", err
	}
	created, err := p.client.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.sandbox, Config: config, SandboxConfig: p.config,
	})
	if err != nil {
		return "", err
	}
	_, err = p.client.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: created.ContainerId})
	return created.ContainerId, err
}

// startAll starts the worker pod's containers in their order.
func (p *floorPod) startAll(ctx context.Context, attempt int) (ids [3]string, err error) {
	order := []*v1.Container{&p.pod.Spec.InitContainers[0], &p.pod.Spec.InitContainers[1], &p.pod.Spec.Containers[0]}
	for i, c := range order {
		if ids[i], err = p.start(ctx, c, attempt); err != nil {
			return ids, fmt.Errorf("start %s: %w", c.Name, err)
		}
		if i == 0 {
			p.awaitExit(ids[0])
		}
	}
	return ids, nil
}

func (b *bed) awaitExit(id string) {
	for exited := range b.exits {
		if exited == id {
			return
		}
	}
}

// floorRestartAll makes the calls that the restart needs, in the order that is
// necessary: the end of the sidecar, the removals of the victims side by side,
// then that of the cause, then the starts.
func (b *bed) floorRestartAll(ctx context.Context, record record) error {
	p, err := b.newFloorPod(ctx, b.workerPod())
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.node.Config.PodLogDirectory(p.pod)) }() // a temporary folder's
	ids, err := p.startAll(ctx, 0)
	if err != nil {
		return err
	}
	settle()
	began := time.Now()
	if err := b.kill(ctx, ids[2]); err != nil {
		return err
	}
	b.awaitExit(ids[2])
	if _, err := b.client.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: ids[1]}); err != nil {
		return err
	}
	if err := errors.Join(b.remove(ctx, ids[0], ids[1]), b.remove(ctx, ids[2])); err != nil {
		return err
	}
	if _, err := p.startAll(ctx, 1); err != nil {
		return err
	}
	record("floor restart all", time.Since(began))
	return p.remove(ctx)
}

// remove removes containers side by side.
func (b *bed) remove(ctx context.Context, ids ...string) error {
	errs := make([]error, len(ids))
	var calls sync.WaitGroup
	for i, id := range ids {
		calls.Go(func() {
			_, errs[i] = b.client.Runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}

// remove ends the whole pod.
func (p *floorPod) remove(ctx context.Context) error {
	if _, err := p.client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		return err
	}
	_, err := p.client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
	return err
}
