//go:build realruntime

package bundletest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

const toolbox = "lifepod.dev/toolbox:1"

func dial(t *testing.T, r *bundle.Runtime) cri.RuntimeServiceClient {
	t.Helper()
	return cri.NewRuntimeServiceClient(connect(t, r))
}

// connect gives the connection to containerd that dial has its client of.
func connect(t *testing.T, r *bundle.Runtime) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.Endpoint(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		// A restarted containerd is to be found at once.
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond, Multiplier: 1.5}}))
	assert.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// pod is a sandbox with one container that sleeps.
type pod struct {
	client             cri.RuntimeServiceClient
	sandbox, container string
}

func sandboxConfig(r *bundle.Runtime) *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: "pod", Namespace: "default", Uid: "0b7cf1b0-pod"},
		LogDirectory: filepath.Join(r.Paths().Root, "logs"),
		Linux:        &cri.LinuxPodSandboxConfig{CgroupParent: r.CgroupParent() + "/pod"},
	}
}

func runPod(t *testing.T, r *bundle.Runtime, ports ...*cri.PortMapping) *pod {
	t.Helper()
	ctx := t.Context()
	if _, err := r.ImportImages(ctx); err != nil {
		t.Fatal(err)
	}
	config := sandboxConfig(r)
	config.PortMappings = ports
	p := &pod{client: dial(t, r)}
	sandbox, err := p.client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
	assert.Must(t, err)
	p.sandbox = sandbox.GetPodSandboxId()
	t.Cleanup(func() { p.remove(t) })
	container, err := p.client.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: config, Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main"},
			Image:    &cri.ImageSpec{Image: toolbox},
			Command:  []string{"/bin/sleep", "600"},
			LogPath:  "main.log",
			Linux:    &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{OomScoreAdj: 500}},
		},
	})
	assert.Must(t, err)
	p.container = container.GetContainerId()
	if _, err := p.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: p.container}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pod) status(t *testing.T) *cri.ContainerStatus {
	t.Helper()
	answer, err := p.client.ContainerStatus(t.Context(), &cri.ContainerStatusRequest{ContainerId: p.container})
	assert.Must(t, err)
	return answer.GetStatus()
}

// remove may be called twice.
func (p *pod) remove(t *testing.T) {
	t.Helper()
	if p.sandbox == "" {
		return
	}
	ctx := context.Background()
	if _, err := p.client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		t.Errorf("stop the sandbox: %v", err)
	}
	if _, err := p.client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		t.Errorf("remove the sandbox: %v", err)
	}
	p.sandbox = ""
}

func wantFile(t *testing.T, path string) {
	t.Helper()
	_, err := os.Stat(path)
	assert.NoError(t, err)
}
