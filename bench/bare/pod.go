package bare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

type pod struct {
	*Runtime
	pod     *v1.Pod
	config  *runtimeapi.PodSandboxConfig
	sandbox string
}

// create runs the sandbox.
func (r *Runtime) create(ctx context.Context, of *v1.Pod) (*pod, error) {
	p := &pod{Runtime: r, pod: of, config: criconfig.Sandbox(criconfig.SandboxInput{
		Node: r.Node, Pod: of, CgroupParent: r.CgroupOf(of), Hostname: of.Name,
	})}
	sandbox, err := r.Client.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: p.config})
	p.sandbox = sandbox.GetPodSandboxId()
	return p, err
}

type instance struct {
	id   string
	exit <-chan struct{}
}

// start creates and starts one instance of a container.
func (p *pod) start(ctx context.Context, c *v1.Container, attempt int) (instance, error) {
	if err := os.MkdirAll(filepath.Join(p.logs(), c.Name), 0o755); err != nil {
		return instance{}, err
	}
	in := criconfig.ContainerInput{
		Node: p.Node, Pod: p.pod, Container: c, RestartCount: attempt,
		ImageRef: c.Image, Environment: criconfig.Environment{Command: c.Command},
	}
	config, err := criconfig.Container(in)
	if err != nil {
		return instance{}, err
	}
	created, err := p.Client.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.sandbox, Config: config, SandboxConfig: p.config,
	})
	if err != nil {
		return instance{}, err
	}
	i := instance{created.ContainerId, p.exitOf(created.ContainerId)}
	_, err = p.Client.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: i.id})
	return i, err
}

// startAll starts init containers, whose ends are awaited unless they are
// sidecars, then the containers, and returns the instances in that order.
func (p *pod) startAll(ctx context.Context, attempt int) ([]instance, error) {
	var all []instance
	for i := range p.pod.Spec.InitContainers {
		c := &p.pod.Spec.InitContainers[i]
		started, err := p.start(ctx, c, attempt)
		if err == nil && c.RestartPolicy == nil {
			err = await(ctx, started.exit)
		}
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", c.Name, err)
		}
		all = append(all, started)
	}
	for i := range p.pod.Spec.Containers {
		started, err := p.start(ctx, &p.pod.Spec.Containers[i], attempt)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", p.pod.Spec.Containers[i].Name, err)
		}
		all = append(all, started)
	}
	return all, nil
}

// removeContainers removes containers side by side.
func (r *Runtime) removeContainers(ctx context.Context, list ...instance) error {
	return Together(len(list), len(list), func(i int) error {
		_, err := r.Client.Runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: list[i].id})
		return err
	})
}

func (p *pod) remove(ctx context.Context) error {
	if _, err := p.Client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		return err
	}
	_, err := p.Client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
	return err
}

func (p *pod) stop(ctx context.Context, i instance, timeoutSeconds int64) error {
	_, err := p.Client.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: i.id, Timeout: timeoutSeconds})
	return err
}

func (p *pod) logs() string { return p.Node.PodLogDirectory(p.pod) }

func (p *pod) removeLogs() { _ = os.RemoveAll(p.logs()) } // a temporary folder's

// Together does something n times, at most so many at the same time, and returns the first error.
func Together(workers, n int, do func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(workers)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}
