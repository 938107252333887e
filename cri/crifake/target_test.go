package crifake

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// Target is a runtime to be checked.
type Target struct {
	Runtime runtimeapi.RuntimeServiceClient
	// Image is present on the machine and has a shell.
	Image string
	// CgroupParent is where the cgroups of sandboxes belong.
	CgroupParent string
	// Command is the command line of a program. The shell programs of Shell do
	// for images with a shell.
	Command func(CricheckProgram) []string
}

// CricheckProgram is what a container of a check does, or a command in it.
type CricheckProgram int

// The programs. Those that run on say so first, with the line "ready" in their log.
const (
	Succeeds   CricheckProgram = iota // exits with 0
	Fails                             // exits with 3
	Ends                              // runs until the stop signal, then exits with 7
	IgnoresEnd                        // runs until it is killed; it answers the stop signal with the line "told"
	Absent                            // there is no such program
	Speaks                            // a command: writes "out" and, to its standard error, "err", and exits with 3
	Hangs                             // a command: runs until it is killed
)

// Shell is the programs for an image that has /bin/sh and sleep.
func Shell(p CricheckProgram) []string {
	return map[CricheckProgram][]string{
		Succeeds:   {"/bin/sh", "-c", "exit 0"},
		Fails:      {"/bin/sh", "-c", "exit 3"},
		Ends:       {"/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; sleep 600 & wait"},
		IgnoresEnd: {"/bin/sh", "-c", "trap 'echo told' TERM; echo ready; while true; do sleep 1; done"},
		Absent:     {"/no/such/program"},
		Speaks:     {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"},
		Hangs:      {"/bin/sh", "-c", "while true; do sleep 1; done"},
	}[p]
}

// limit is how long a check may take before it has failed.
const limit = time.Minute

// box is a sandbox of a check, which is removed with all that is in it at the end.
type box struct {
	*testing.T
	Target
	ctx    context.Context
	config *runtimeapi.PodSandboxConfig
	id     string
}

func newBox(t *testing.T, target Target) *box {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	name := strings.ToLower(filepath.Base(t.Name()))
	b := &box{T: t, Target: target, ctx: ctx, config: &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "cricheck", Uid: "uid-" + name},
		Hostname:     name,
		LogDirectory: t.TempDir(),
		Labels:       map[string]string{"cricheck": name},
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: target.CgroupParent + "/" + name},
	}}
	out, err := target.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: b.config})
	if err != nil {
		t.Fatalf("run a sandbox: %v", err)
	}
	b.id = out.PodSandboxId
	t.Cleanup(func() { b.remove(b.id) })
	return b
}

func (b *box) remove(id string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	assert.NoError(b, assert.ErrorOf(b.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id})), "stop the sandbox")
	assert.NoError(b, assert.ErrorOf(b.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})), "remove the sandbox")
}

// request is the creation of a container named main.
func (b *box) request(p CricheckProgram, attempt uint32) *runtimeapi.CreateContainerRequest {
	return &runtimeapi.CreateContainerRequest{PodSandboxId: b.id, SandboxConfig: b.config, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: attempt},
		Image:    &runtimeapi.ImageSpec{Image: b.Image},
		Command:  b.Command(p),
		LogPath:  "main.log",
		Labels:   b.config.Labels,
		Linux:    &runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{OomScoreAdj: 500}},
	}}
}

func (b *box) create(p CricheckProgram, attempt uint32) string {
	b.Helper()
	out, err := b.Runtime.CreateContainer(b.ctx, b.request(p, attempt))
	if err != nil {
		b.Fatalf("create a container: %v", err)
	}
	return out.ContainerId
}

func (b *box) start(id string) {
	b.Helper()
	if _, err := b.Runtime.StartContainer(b.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		b.Fatalf("start the container: %v", err)
	}
}

// run creates and starts a container that runs on, and waits until it is ready.
func (b *box) run(p CricheckProgram) string {
	b.Helper()
	id := b.create(p, 0)
	b.start(id)
	b.untilSaid("ready")
	return id
}

// untilSaid waits until a line is in the container's log.
func (b *box) untilSaid(line string) {
	b.Helper()
	b.until("said "+line, func() bool {
		text, _ := os.ReadFile(filepath.Join(b.config.LogDirectory, "main.log"))
		return strings.Contains(string(text), line)
	})
}

func (b *box) stop(id string, seconds int64) error {
	_, err := b.Runtime.StopContainer(b.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

func (b *box) status(id string) *runtimeapi.ContainerStatus {
	b.Helper()
	out, err := b.Runtime.ContainerStatus(b.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		b.Fatalf("ask for the container: %v", err)
	}
	return out.Status
}

// exited waits for the container's end.
func (b *box) exited(id string) *runtimeapi.ContainerStatus {
	b.Helper()
	b.until("exited", func() bool {
		return b.status(id).State == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return b.status(id)
}

// until waits for what has no event.
func (b *box) until(what string, is func() bool) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("never %s", what)
		case <-tick.C:
		}
	}
}
