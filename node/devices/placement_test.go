package devices

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// placementContainers are those of a pretended runtime, by ID, which is the UID of their pod, too.
type placementContainers struct {
	runtimeapi.RuntimeServiceClient
	mu    sync.Mutex
	on    map[string]string // their CPUs
	calls int               // updates
	fail  error             // of the next update
}

func (r *placementContainers) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var answer runtimeapi.ListContainersResponse
	for id := range r.on {
		answer.Containers = append(answer.Containers, &runtimeapi.Container{
			Id: id, State: runtimeapi.ContainerState_CONTAINER_RUNNING,
			Labels: map[string]string{criconfig.PodUIDLabel: id, criconfig.ContainerNameLabel: "main"},
		})
	}
	return &answer, nil
}

func (r *placementContainers) ContainerStatus(_ context.Context, in *runtimeapi.ContainerStatusRequest, _ ...grpc.CallOption) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cpus, found := r.on[in.ContainerId]
	if !found {
		return nil, status.Error(codes.NotFound, in.ContainerId)
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		State: runtimeapi.ContainerState_CONTAINER_RUNNING, Resources: &runtimeapi.ContainerResources{Linux: &runtimeapi.LinuxContainerResources{CpusetCpus: cpus}},
	}}, nil
}

func (r *placementContainers) UpdateContainerResources(_ context.Context, in *runtimeapi.UpdateContainerResourcesRequest, _ ...grpc.CallOption) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if err := r.fail; err != nil {
		r.fail = nil
		return nil, err
	}
	r.on[in.ContainerId] = in.Linux.CpusetCpus
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// begin has a container that was created with some CPUs begin.
func (r *placementContainers) begin(id, cpus string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on[id] = cpus
}

func (r *placementContainers) want(t *testing.T, what string, want map[string]string, calls int) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	diff := cmp.Diff(want, r.on)
	assert.True(t, diff == "" && r.calls == calls, "%s: %d updates, want %d (-want +got):\n%s", what, r.calls, calls, diff)
	r.calls = 0
}

// A-NUMA-17: containers are where they should be, also those that began meanwhile, and nobody
// else's are touched.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runtime := &placementContainers{on: map[string]string{"old": "", "right": "0-7", "foreign": "5"}}
		var mu sync.Mutex
		shared := cpuset.New(0, 1, 2, 3, 4, 5, 6, 7)
		share := func(cpus ...int) {
			mu.Lock()
			defer mu.Unlock()
			shared = cpuset.New(cpus...)
		}
		c := NewPlacement(PlacementConfig{Runtime: runtime, Log: slog.New(slog.DiscardHandler), On: func(uid types.UID, _ string) cpuset.CPUSet {
			mu.Lock()
			defer mu.Unlock()
			if uid == "own" {
				return cpuset.New(1, 2, 3)
			}
			return shared
		}})
		c.Known = func(uid types.UID) bool { return uid != "foreign" }
		assert.Runs(t, c.Run)
		runtime.want(t, "at the start", map[string]string{"old": "0-7", "right": "0-7", "foreign": "5"}, 1)

		share(0, 4, 5, 6, 7)
		c.LookAll()
		runtime.want(t, "when a pod gets CPUs", map[string]string{"old": "0,4-7", "right": "0,4-7", "foreign": "5"}, 2)
		runtime.begin("own", "1-3")
		runtime.begin("late", "0-7") // it was created before
		c.Look("own", "own", "main")
		c.Look("late", "late", "main")
		runtime.want(t, "one that was created meanwhile", map[string]string{"old": "0,4-7", "right": "0,4-7", "foreign": "5", "own": "1-3", "late": "0,4-7"}, 1)

		runtime.mu.Lock()
		delete(runtime.on, "own")
		delete(runtime.on, "right")
		runtime.fail = errors.New("busy")
		runtime.mu.Unlock()
		share(0, 1, 2, 3, 4, 5, 6, 7)
		c.LookAll()
		c.Look("gone", "gone", "main")
		synctest.Wait()
		time.Sleep(retry + time.Second)
		runtime.want(t, "when it has given them back, and after a failure", map[string]string{"old": "0-7", "foreign": "5", "late": "0-7"}, 3)
	})
}
