package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent/criconfig"
	"github.com/lifepod/lifepod/agent/environment"
)

// floor makes the bare calls that a pod needs, one after the other, with the
// configs that lifepod sends, too.
func (b *bed) floor(ctx context.Context, record record) error {
	pod := b.pod()
	sandboxConfig := criconfig.Sandbox(criconfig.SandboxInput{
		Node: b.node.Config, Pod: pod, CgroupParent: b.node.Cgroups.Path(pod), Hostname: "bench",
	})
	logs := b.node.Config.PodLogDirectory(pod)
	if err := os.MkdirAll(filepath.Join(logs, "main"), 0o755); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(logs) }() // a temporary folder's

	began := time.Now()
	sandbox, err := b.client.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig})
	if err != nil {
		return err
	}
	start := func(attempt int) (string, error) {
		config, err := criconfig.Container(criconfig.ContainerInput{
			Node: b.node.Config, Pod: pod, Container: &pod.Spec.Containers[0], RestartCount: attempt,
			ImageRef: "lifepod.dev/toolbox:1", Environment: environment.Result{Command: []string{"sleep", "infinity"}},
		})
		if err != nil {
			return "", err
		}
		created, err := b.client.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
			PodSandboxId: sandbox.PodSandboxId, Config: config, SandboxConfig: sandboxConfig,
		})
		if err != nil {
			return "", err
		}
		_, err = b.client.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: created.ContainerId})
		return created.ContainerId, err
	}
	first, err := start(0)
	if err != nil {
		return err
	}
	record("floor create", time.Since(began))
	return b.floorRest(ctx, record, bare{sandbox.PodSandboxId, first, start})
}

// bare is a pod made of bare calls.
type bare struct {
	sandbox, container string
	start              func(attempt int) (string, error)
}

// floorRest restarts the container after a kill, then deletes the pod.
func (b *bed) floorRest(ctx context.Context, record record, p bare) error {
	settle()
	began := time.Now()
	if err := b.kill(ctx, p.container); err != nil {
		return err
	}
	for id := range b.exits {
		if id == p.container {
			break
		}
	}
	second, err := p.start(1)
	if err != nil {
		return err
	}
	record("floor restart", time.Since(began))
	settle()

	began = time.Now()
	if _, err := b.client.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: second, Timeout: 30}); err != nil {
		return err
	}
	if _, err := b.client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		return err
	}
	if _, err := b.client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		return err
	}
	record("floor delete", time.Since(began))
	return nil
}

// settle lets what the last call still stirs come to rest, on both sides alike.
func settle() { time.Sleep(50 * time.Millisecond) }
