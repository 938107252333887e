package crifake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/sim/scenario"
)

type container struct {
	id      string
	config  *runtimeapi.ContainerConfig
	sandbox *sandbox
	program
	answers scenario.Answers // of commands, if a scenario says them

	resources *runtimeapi.LinuxContainerResources // as updated; nil: the config's

	state                            runtimeapi.ContainerState
	createdAt, startedAt, finishedAt time.Time
	exitCode                         int32
	reason, message                  string
	exited                           chan struct{}

	order int // of its creation
}

// subject is what a call or an event is about.
type subject struct {
	text      string                       // pod, pod/container or image
	pod       *runtimeapi.PodSandboxConfig // nil: of no pod that is known
	container string                       // empty: of none
	instance  *container                   // nil: of none that is known
	image     string
}

func (c *container) subject() subject {
	return subject{text: c.sandbox.config.Metadata.Name + "/" + c.config.Metadata.Name, pod: c.sandbox.config, container: c.config.Metadata.Name, instance: c}
}

func (c *container) name() string {
	return fmt.Sprintf("%s_%s_%d", c.config.Metadata.Name, c.sandbox.config.Metadata.Uid, c.config.Metadata.Attempt)
}

func (c *container) stateText() string {
	return strings.ToLower(strings.TrimPrefix(c.state.String(), "CONTAINER_"))
}

// CreateContainer makes a container in a sandbox.
func (r *Runtime) CreateContainer(ctx context.Context, in *runtimeapi.CreateContainerRequest, _ ...callOption) (*runtimeapi.CreateContainerResponse, error) {
	r.mu.Lock()
	s := r.sandbox(in.PodSandboxId)
	r.mu.Unlock()
	if s == nil {
		return nil, noSandbox(in.PodSandboxId)
	}
	c := &container{config: in.Config, sandbox: s, exited: make(chan struct{})}
	asked := call{rpc: "CreateContainer", subject: c.subject(), detail: r.createDetail(c.config), name: c.name()}
	return ask(ctx, r, asked, func(out *runtimeapi.CreateContainerResponse) error {
		err := r.create(c)
		out.ContainerId = c.id
		return err
	})
}

// createDetail is what a config is told apart by in Calls.
func (r *Runtime) createDetail(config *runtimeapi.ContainerConfig) string {
	detail := fmt.Sprintf("attempt=%d", config.Metadata.Attempt)
	if namespaces := config.GetLinux().GetSecurityContext().GetNamespaceOptions(); namespaces.GetPid() == runtimeapi.NamespaceMode_TARGET {
		detail += " target=" + r.subjectOf(namespaces.TargetId).text
	}
	if config.Tty {
		detail += " tty"
	}
	return detail
}

func (r *Runtime) create(c *container) (err error) {
	if r.sandbox(c.sandbox.id) == nil {
		return noSandbox(c.sandbox.id)
	}
	if c.program, err = r.nextProgram(c); err != nil {
		return err
	}
	c.id, c.createdAt = r.newID(c.config.Metadata.Name), time.Now()
	c.order = r.lastID
	r.containers[c.id] = c
	c.sandbox.containers = append(c.sandbox.containers, c)
	r.reserved[c.name()] = c.id
	r.emit(c.sandbox, c, created)
	return nil
}

func noSandbox(id string) error {
	return status.Errorf(codes.NotFound, "failed to find sandbox id %q: not found", id)
}

// RemoveContainer forgets a container, killing it if it runs; one that is not
// there is no error.
func (r *Runtime) RemoveContainer(ctx context.Context, in *runtimeapi.RemoveContainerRequest, _ ...callOption) (*runtimeapi.RemoveContainerResponse, error) {
	return ask(ctx, r, call{rpc: "RemoveContainer", subject: r.subjectOf(in.ContainerId)}, func(*runtimeapi.RemoveContainerResponse) error {
		if c := r.container(in.ContainerId); c != nil {
			r.exit(c, 137, "Error")
			r.remove(c)
		}
		return nil
	})
}

func (r *Runtime) remove(c *container) {
	delete(r.containers, c.id)
	c.sandbox.containers = slices.DeleteFunc(c.sandbox.containers, func(o *container) bool { return o == c })
	delete(r.reserved, c.name())
	r.emit(c.sandbox, c, deleted)
}

func (r *Runtime) container(id string) *container { return r.containers[id] }

// containersIn are those of a sandbox, in the order of their creation.
func (r *Runtime) containersIn(sandboxID string) []*container {
	if s := r.sandboxes[sandboxID]; s != nil {
		return slices.Clone(s.containers)
	}
	return nil
}

// subjectOf is the container of an id, or the id.
func (r *Runtime) subjectOf(id string) subject {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.container(id); c != nil {
		return c.subject()
	}
	return subject{text: id}
}

func notFound(id string) error {
	return status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", id)
}

// UpdateContainerResources gives a container that runs other resources.
func (r *Runtime) UpdateContainerResources(ctx context.Context, in *runtimeapi.UpdateContainerResourcesRequest, _ ...callOption) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	asked := call{rpc: "UpdateContainerResources", subject: r.subjectOf(in.ContainerId), detail: resourcesDetail(in.Linux)}
	return ask(ctx, r, asked, func(*runtimeapi.UpdateContainerResourcesResponse) error {
		c := r.container(in.ContainerId)
		if c == nil {
			return notFound(in.ContainerId)
		}
		c.resources = in.Linux
		return nil
	})
}

func resourcesDetail(to *runtimeapi.LinuxContainerResources) string {
	return fmt.Sprintf("shares=%d quota=%d memory=%d", to.CpuShares, to.CpuQuota, to.MemoryLimitInBytes)
}

// UpdatePodSandboxResources changes nothing, as in containerd.
func (r *Runtime) UpdatePodSandboxResources(ctx context.Context, in *runtimeapi.UpdatePodSandboxResourcesRequest, _ ...callOption) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	asked := call{rpc: "UpdatePodSandboxResources", subject: r.podOf(in.PodSandboxId), detail: resourcesDetail(in.Resources), effect: nothing}
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, r.do(ctx, asked)
}

// PodSandboxStats says that each container uses as much memory as Uses was told.
func (r *Runtime) PodSandboxStats(ctx context.Context, in *runtimeapi.PodSandboxStatsRequest, _ ...callOption) (*runtimeapi.PodSandboxStatsResponse, error) {
	return ask(ctx, r, call{rpc: "PodSandboxStats", subject: r.podOf(in.PodSandboxId)}, func(out *runtimeapi.PodSandboxStatsResponse) error {
		out.Stats = &runtimeapi.PodSandboxStats{}
		if s := r.sandbox(in.PodSandboxId); s != nil {
			out.Stats = r.statsOf(s)
		}
		return nil
	})
}

// Uses sets how many bytes of memory each container uses.
func (r *Runtime) Uses(bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = bytes
}
