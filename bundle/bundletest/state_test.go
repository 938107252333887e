//go:build realruntime

package bundletest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// newRoot is a state folder; at the end of the test nothing of it may be left
// in the kernel.
func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Cleanup(func() { wantNothingLeft(t, root) })
	return root
}

func open(t *testing.T, root string) *bundle.Runtime {
	t.Helper()
	r := assert.Get(bundle.Open(t.Context(), bundle.Config{Root: root})).Must(t)
	t.Cleanup(func() { closeRuntime(t, r) })
	return r
}

func closeRuntime(t *testing.T, r *bundle.Runtime) {
	t.Helper()
	assert.NoError(t, r.Close(context.Background()), "close")
}

func locate(t *testing.T, root string) bundle.Paths {
	t.Helper()
	return assert.Get(bundle.Locate(root, "")).Must(t)
}

// containerd is the pid of the containerd of a root, as recorded.
func containerd(t *testing.T, root string) int {
	t.Helper()
	text := assert.Get(os.ReadFile(filepath.Join(locate(t, root).RunDir, "containerd.json"))).Must(t)
	var record struct{ PID int }
	assert.Must(t, json.Unmarshal(text, &record))
	return record.PID
}

func killContainerd(t *testing.T, root string) {
	t.Helper()
	assert.Must(t, syscall.Kill(containerd(t, root), syscall.SIGKILL))
}

// programsOf lists the processes whose program lies below the root.
func programsOf(root string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(exe, root+"/") {
			found = append(found, filepath.Base(filepath.Dir(link))+" "+exe)
		}
	}
	return found
}

// wantNothingLeft looks for processes, mounts, sockets, the bridge, packet
// filter rules and cgroups of a root.
func wantNothingLeft(t *testing.T, root string) {
	t.Helper()
	p := locate(t, root)
	got := programsOf(root)
	// A network plugin that containerd had called when it was ended goes on for a moment.
	for limit := time.Now().Add(time.Minute); len(got) > 0 && time.Now().Before(limit); got = programsOf(root) {
		time.Sleep(10 * time.Millisecond)
	}
	assert.True(t, len(got) == 0, "processes left: %q", got)
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, root) && !strings.HasPrefix(m.Mountpoint, p.RunDir), false
	})
	assert.Must(t, err)
	for _, m := range mounts {
		t.Errorf("mount left: %s", m.Mountpoint)
	}
	if _, err := os.Stat(p.RunDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("run folder left: %v", err)
	}
	if _, err := netlink.LinkByName(p.Bridge()); err == nil {
		t.Errorf("bridge left: %s", p.Bridge())
	}
	if name := strings.TrimPrefix(p.CgroupParent(), "/"); name != "" {
		v1, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
		v2, _ := filepath.Glob("/sys/fs/cgroup/" + name)
		left := slices.Concat(v1, v2)
		assert.True(t, len(left) == 0, "cgroups left: %q", left)
	}
	for _, listing := range [][]string{{"nft", "list", "tables"}, {"iptables", "-w", "-t", "nat", "-S"}} {
		out, _ := exec.Command(listing[0], listing[1:]...).Output()
		name := strings.TrimPrefix(p.CgroupParent(), "/lifepod-")
		assert.True(t, !strings.Contains(string(out), name) && !strings.Contains(string(out), "cni_hostport"), "%s: rules left:\n%s", listing[0], out)
	}
}

// sessionOf is the session of a process.
func sessionOf(t *testing.T, pid int) int {
	t.Helper()
	session, err := unix.Getsid(pid)
	assert.Require(t, err == nil, "session of %s: %v", strconv.Itoa(pid), err)
	return session
}

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
	assert.Must(t, assert.ErrorOf(r.ImportImages(ctx)))
	config := sandboxConfig(r)
	config.PortMappings = ports
	p := &pod{client: dial(t, r)}
	sandbox := assert.Get(p.client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})).Must(t)
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
	assert.Must(t, assert.ErrorOf(p.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: p.container})))
	return p
}

func (p *pod) status(t *testing.T) *cri.ContainerStatus {
	t.Helper()
	answer := assert.Get(p.client.ContainerStatus(t.Context(), &cri.ContainerStatusRequest{ContainerId: p.container})).Must(t)
	return answer.GetStatus()
}

// remove may be called twice.
func (p *pod) remove(t *testing.T) {
	t.Helper()
	if p.sandbox == "" {
		return
	}
	ctx := context.Background()
	assert.NoError(t, assert.ErrorOf(p.client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: p.sandbox})), "stop the sandbox")
	assert.NoError(t, assert.ErrorOf(p.client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: p.sandbox})), "remove the sandbox")
	p.sandbox = ""
}

func wantFile(t *testing.T, path string) {
	t.Helper()
	assert.NoError(t, assert.ErrorOf(os.Stat(path)))
}
