package devices

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// PlacementConfig is what a Placement needs.
type PlacementConfig struct {
	Runtime runtimeapi.RuntimeServiceClient
	// On says on which CPUs a container is to run; empty: it is left alone.
	On  func(uid types.UID, container string) cpuset.CPUSet
	Log *slog.Logger
}

// Placement are those of a runtime that may have to run on other CPUs (A-NUMA-17). All of them
// are looked at once.
type Placement struct {
	PlacementConfig
	// Known says whether a pod of the runtime is this node's; set before Run.
	Known func(types.UID) bool

	wake mailbox.Signal
	on   map[string]cpuset.CPUSet // on which CPUs they were seen, by ID; Run's

	mu   sync.Mutex
	all  bool                 // all that run are to be looked at
	some map[string]container // these are, by ID
}

// container is one of a pod's.
type container struct {
	uid  types.UID
	name string
}

// NewPlacement are the containers of a runtime.
func NewPlacement(c PlacementConfig) *Placement {
	return &Placement{PlacementConfig: c, wake: mailbox.NewSignal(), on: map[string]cpuset.CPUSet{}, all: true, some: map[string]container{}}
}

// LookAll checks all containers: some should run on other CPUs now.
func (c *Placement) LookAll() { c.look(func() { c.all = true }) }

// Look checks a container that has begun: it may have been created for other CPUs.
func (c *Placement) Look(id string, uid types.UID, name string) {
	c.look(func() { c.some[id] = container{uid, name} })
}

func (c *Placement) look(note func()) {
	c.mu.Lock()
	note()
	c.mu.Unlock()
	c.wake.Send()
}

func (c *Placement) take() (all bool, some map[string]container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, some = c.all, c.some
	c.all, c.some = false, map[string]container{}
	return all, some
}

// retry is the pause before a container is moved again that could not be.
const retry = 10 * time.Second

// Run moves containers until ctx ends.
func (c *Placement) Run(ctx context.Context) {
	var again <-chan time.Time
	for {
		if !c.move(ctx) && again == nil {
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-again:
			again = nil
			c.LookAll()
		}
	}
}

// move has the containers that are to be looked at run on their CPUs.
func (c *Placement) move(ctx context.Context) (done bool) {
	everything, some := c.take()
	if everything {
		running, err := c.running(ctx)
		if err != nil {
			c.Log.WarnContext(ctx, "can't see which containers should run on other CPUs", "err", err)
			return false
		}
		maps.DeleteFunc(c.on, func(id string, _ cpuset.CPUSet) bool { _, runs := running[id]; return !runs })
		maps.Copy(some, running)
	}
	done = true
	for _, id := range slices.Sorted(maps.Keys(some)) {
		of := some[id]
		want := c.On(of.uid, of.name)
		if is, seen := c.on[id]; want.IsEmpty() || seen && is.Equals(want) || !c.Known(of.uid) {
			continue
		}
		if err := c.moveTo(ctx, id, want); err != nil {
			if ctx.Err() == nil {
				c.Log.WarnContext(ctx, "a container can't be moved to other CPUs", "pod", of.uid, "container", of.name, "cpus", want, "err", cri.Text(err))
			}
			done = false
			continue
		}
		c.on[id] = want
	}
	return done
}

// running are the containers that run, or will.
func (c *Placement) running(ctx context.Context) (map[string]container, error) {
	answer, err := c.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	all := map[string]container{}
	for _, one := range answer.Containers {
		if one.State == runtimeapi.ContainerState_CONTAINER_RUNNING || one.State == runtimeapi.ContainerState_CONTAINER_CREATED {
			all[one.Id] = container{types.UID(one.Labels[criconfig.PodUIDLabel]), one.Labels[criconfig.ContainerNameLabel]}
		}
	}
	return all, nil
}

// moveTo has a container run on some CPUs, unless it does or has ended.
func (c *Placement) moveTo(ctx context.Context, id string, want cpuset.CPUSet) error {
	status, err := c.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if cri.IsNotFound(err) || err == nil && status.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
		return nil
	}
	if err != nil {
		return err
	}
	if is := status.GetStatus().GetResources().GetLinux().GetCpusetCpus(); is == want.String() {
		return nil
	}
	_, err = c.Runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id, Linux: &runtimeapi.LinuxContainerResources{CpusetCpus: want.String()},
	})
	if cri.IsNotFound(err) {
		return nil
	}
	return err
}
