package stats

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// askTimeout bounds what the runtime is asked for one answer.
const askTimeout = 30 * time.Second

// sandbox is a pod's sandbox that is ready, with what runs in it.
type sandbox struct {
	*runtimeapi.PodSandbox
	usage      *runtimeapi.LinuxPodSandboxStats // of the whole pod; parts may be nil
	containers []container
}

// container is one that runs.
type container struct {
	*runtimeapi.Container
	usage *runtimeapi.ContainerStats
}

func (s sandbox) uid() types.UID { return types.UID(s.GetMetadata().GetUid()) }

// running asks the runtime what it runs and what that uses. Those who ask while it is
// being asked get the answer to the next question together: the present one may have
// begun before what they want to hear of.
func (s *Stats) running(ctx context.Context) ([]sandbox, error) {
	for since := time.Now(); ; {
		answers := s.asking.DoChan("running", func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout) // others may wait, too
			defer cancel()
			began := time.Now()
			found, err := s.askRuntime(ctx)
			return answer{began, found}, err
		})
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case got := <-answers:
			if got.Err != nil {
				return nil, got.Err
			}
			if a := got.Val.(answer); !a.began.Before(since) {
				return a.sandboxes, nil
			}
		}
	}
}

// answer is what the runtime answered to a question.
type answer struct {
	began     time.Time
	sandboxes []sandbox
}

func (s *Stats) askRuntime(ctx context.Context) ([]sandbox, error) {
	list, err := s.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{
		State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY},
	}})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's sandboxes: %s", cri.Text(err))
	}
	containers, err := s.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
	}})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's containers: %s", cri.Text(err))
	}
	ours := slices.DeleteFunc(list.Items, func(item *runtimeapi.PodSandbox) bool {
		return item.GetLabels()[cri.PodUIDLabel] == "" || s.Pods.Foreign != nil && s.Pods.Foreign(types.UID(item.GetMetadata().GetUid()))
	})
	usage, err := s.askUsage(ctx, ours, containers.Containers)
	if err != nil {
		return nil, fmt.Errorf("ask the runtime what pods use: %s", cri.Text(err))
	}
	var found []sandbox
	for _, item := range ours {
		if used := usage[item.Id]; used != nil { // else it has gone meanwhile
			found = append(found, sandbox{PodSandbox: item, usage: used, containers: containersOf(containers.Containers, used)})
		}
	}
	slices.SortFunc(found, func(a, b sandbox) int { return int(a.CreatedAt - b.CreatedAt) })
	return found, nil
}

// askUsage is what each sandbox uses, by ID. A runtime that doesn't tell of pods as
// a whole tells of their containers. One that tells of none because of a single sandbox, such as
// containerd of one that was made without a cgroup, is asked for each.
func (s *Stats) askUsage(ctx context.Context, ours []*runtimeapi.PodSandbox, containers []*runtimeapi.Container) (map[string]*runtimeapi.LinuxPodSandboxStats, error) {
	usage := map[string]*runtimeapi.LinuxPodSandboxStats{}
	pods, err := s.Runtime.ListPodSandboxStats(ctx, &runtimeapi.ListPodSandboxStatsRequest{})
	if err == nil {
		for _, pod := range pods.Stats {
			if pod.GetLinux() != nil {
				usage[pod.GetAttributes().GetId()] = pod.Linux
			}
		}
		return usage, nil
	}
	switch status.Code(err) {
	case codes.Unimplemented:
		return s.askContainers(ctx, containers)
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return nil, err
	}
	for _, item := range ours {
		one, failed := s.Runtime.PodSandboxStats(ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: item.Id})
		switch {
		case failed == nil:
			usage[item.Id] = one.GetStats().GetLinux()
		case status.Code(failed) != codes.NotFound: // else it has gone meanwhile
			s.Log.Warn("can't measure the resource usage of a pod", "pod", item.GetMetadata().GetName(), "namespace", item.GetMetadata().GetNamespace(), "err", cri.Text(failed))
		}
	}
	if len(usage) == 0 {
		return nil, err
	}
	return usage, nil
}

// askContainers is what the containers of each sandbox use, by the sandbox's ID.
func (s *Stats) askContainers(ctx context.Context, containers []*runtimeapi.Container) (map[string]*runtimeapi.LinuxPodSandboxStats, error) {
	usage := map[string]*runtimeapi.LinuxPodSandboxStats{}
	each, err := s.Runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{})
	if err != nil {
		return nil, err
	}
	sandboxOf := map[string]string{}
	for _, c := range containers {
		sandboxOf[c.Id] = c.PodSandboxId
	}
	for _, used := range each.Stats {
		id := sandboxOf[used.GetAttributes().GetId()]
		if usage[id] == nil {
			usage[id] = &runtimeapi.LinuxPodSandboxStats{}
		}
		usage[id].Containers = append(usage[id].Containers, used)
	}
	return usage, nil
}

func containersOf(all []*runtimeapi.Container, usage *runtimeapi.LinuxPodSandboxStats) []container {
	var found []container
	for _, used := range usage.Containers {
		i := slices.IndexFunc(all, func(c *runtimeapi.Container) bool { return c.Id == used.GetAttributes().GetId() })
		if i >= 0 {
			found = append(found, container{all[i], used})
		}
	}
	return found
}
