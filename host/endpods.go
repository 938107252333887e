package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// EndPods ends the pods that the runtime has with these labels, whoever began them, and
// returns how many there were. Containers have grace between TERM and KILL.
func (r *Runtime) EndPods(ctx context.Context, grace time.Duration, labels map[string]string) (int, error) {
	list, err := r.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: labels}})
	if err != nil {
		return 0, fmt.Errorf("list the pods: %s", cri.Text(err))
	}
	var ending sync.WaitGroup
	errs := make([]error, len(list.Items))
	for i, sandbox := range list.Items {
		ending.Go(func() { errs[i] = endPod(ctx, r.Runtime, sandbox, grace) })
	}
	ending.Wait()
	return len(list.Items), errors.Join(errs...)
}

func endPod(ctx context.Context, calls runtimeapi.RuntimeServiceClient, sandbox *runtimeapi.PodSandbox, grace time.Duration) error {
	wrap := func(err error) error {
		return fmt.Errorf("end pod %s/%s: %s", sandbox.Metadata.Namespace, sandbox.Metadata.Name, cri.Text(err))
	}
	containers, err := calls.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: sandbox.Id}})
	if err != nil {
		return wrap(err)
	}
	var ending sync.WaitGroup
	for _, c := range containers.Containers {
		ending.Go(func() { // if it fails, ending the sandbox does it
			_, _ = calls.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: c.Id, Timeout: int64(grace.Seconds())})
		})
	}
	ending.Wait()
	if _, err := calls.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
		return wrap(err)
	}
	if _, err := calls.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
		return wrap(err)
	}
	return nil
}
