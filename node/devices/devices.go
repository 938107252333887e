package devices

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/node/devices/checkpoint"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/roster/numa"
)

// Config is what Devices need.
type Config struct {
	// Dir has the socket at which plugins register, theirs, and the checkpoint.
	Dir string
	// Changed is told when capacity or allocatable may have changed; it must not block.
	Changed func()
	// HealthChanged is told of a pod one of whose devices has become healthy or is so no longer;
	// it must not block.
	HealthChanged func(types.UID)
	Timeouts      Timeouts
	Counts        Counts // nil: nobody counts
	Log           *slog.Logger
}

// Counts counts what plugins do (A-DEV-16).
type Counts interface {
	// PluginRegisters is told of each request of a plugin for a resource to register.
	PluginRegisters(resource string)
	// PluginAllocated is told how long a plugin took to answer Allocate.
	PluginAllocated(resource string, took time.Duration)
}

// Timeouts bound the calls of plugins.
type Timeouts struct {
	Connect  time.Duration // until a plugin that registers has answered
	Allocate time.Duration // GetPreferredAllocation and Allocate; Kubernetes waits for ever
	PreStart time.Duration
	// Stopped is for how long the node has a resource, with no device that can be used, whose
	// plugin has stopped.
	Stopped time.Duration
}

// DefaultTimeouts are those of Kubernetes where it has any (A-DEV-2, A-DEV-4, A-DEV-11).
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Connect: 10 * time.Second, Allocate: 2 * time.Minute,
		PreStart: api.KubeletPreStartContainerRPCTimeoutInSecs * time.Second, Stopped: 5 * time.Minute,
	}
}

// Devices are those of a node. Its methods may be called from anywhere.
type Devices struct {
	Config Config // immutable

	mu        sync.Mutex
	resources map[string]*registered
	removed   sets.Set[string]               // whose plugin has been away for too long
	last      map[string]numa.DeviceResource // as plugins have reported last
	pods      map[types.UID]containers

	saving sync.Mutex      // one checkpoint after the other
	dirty  mailbox.Signal  // has the checkpoint written soon
	ctx    context.Context // of plugins' connections; ends with Run
	end    context.CancelFunc
	beside sync.WaitGroup
}

// registered is a resource that a plugin has registered for.
type registered struct {
	plugins []*plugin                // the last is asked; none: it has stopped, or not come back yet
	options *api.DevicePluginOptions // of the plugin that is asked, or was
	devices numa.DeviceResource      // as any of the plugins has told last; none is healthy while there is no plugin
	expires *time.Timer              // while there is no plugin
}

// plugin is the one that is asked; nil: there is none.
func (r *registered) plugin() *plugin {
	if len(r.plugins) == 0 {
		return nil
	}
	return r.plugins[len(r.plugins)-1]
}

// containers are what the containers of a pod have, by resource.
type containers map[string]map[string]*assignment

// assignment is what a container has of one resource.
type assignment struct {
	near checkpoint.DevicesPerNUMA
	// given is what the plugin has answered; nil: it was not asked yet, or has not answered.
	given *api.ContainerAllocateResponse
}

func (a *assignment) ids() numa.DeviceIDs {
	ids := numa.DeviceIDs{}
	for _, near := range a.near {
		ids.Insert(near...)
	}
	return ids
}

// New reads what an agent, or a kubelet, has given before. Nobody can register before Listen.
func New(config Config) *Devices {
	d := &Devices{
		Config: config, resources: map[string]*registered{}, removed: sets.Set[string]{}, last: map[string]numa.DeviceResource{}, pods: map[types.UID]containers{}, dirty: mailbox.NewSignal(),
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.restore()
	return d
}

// Run keeps the checkpoint until ctx ends, and ends the connections of plugins then.
func (d *Devices) Run(ctx context.Context) {
	defer d.beside.Wait()
	defer d.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.dirty:
			if err := d.save(); err != nil {
				d.Config.Log.WarnContext(ctx, "devices may be taken for given that are not, or the other way round, after the agent's next start", "err", err)
			}
		}
	}
}

func (d *Devices) path() string { return filepath.Join(d.Config.Dir, checkpoint.File) }

// Asks says whether a pod asks for something that a device plugin may have: an extended
// resource which is not one of a claim (A-DEV-5).
func (d *Devices) Asks(pod *v1.Pod) bool {
	return slices.ContainsFunc(ofPod(pod), func(c *v1.Container) bool { return len(asked(pod, c)) > 0 })
}

// ofPod are the containers that may have devices, in the order in which they get them.
func ofPod(pod *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// asked are the extended resources of a container, in their order.
func asked(pod *v1.Pod, c *v1.Container) []string {
	var names []string
	for name := range c.Resources.Limits {
		if admit.IsExtended(name) && !claimed(pod, c.Name, string(name)) {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// claimed says whether the scheduler has made a claim for an extended resource (KEP-5004).
func claimed(pod *v1.Pod, container, name string) bool {
	status := pod.Status.ExtendedResourceClaimStatus
	return status != nil && slices.ContainsFunc(status.RequestMappings, func(m v1.ContainerExtendedResourceRequest) bool {
		return m.ContainerName == container && m.ResourceName == name
	})
}

// isDevice says whether a resource is one of a device plugin: now, or when it was given.
func (d *Devices) isDevice(name string) bool {
	return d.resources[name] != nil || len(d.inUse(name)) > 0
}

// inUse are the devices of a resource that pods have, or are about to get.
func (d *Devices) inUse(name string) numa.DeviceIDs {
	ids := numa.DeviceIDs{}
	for _, pod := range d.pods {
		for _, container := range pod {
			if a := container[name]; a != nil {
				ids = ids.Union(a.ids())
			}
		}
	}
	return ids
}

// of is what a container has of a resource; nil: nothing.
func (d *Devices) of(uid types.UID, container, name string) *assignment {
	return d.pods[uid][container][name]
}

// Release takes back what a pod has.
func (d *Devices) Release(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pods[uid] == nil {
		return
	}
	delete(d.pods, uid)
	d.dirty.Send()
}

// Held are the pods that have devices.
func (d *Devices) Held() []types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.pods))
}

// anyDriver stands for all drivers together (A-DRA-13).
const anyDriver = "<any>"

// InUse is how many claims are prepared, by the names of the drivers that they have devices
// of, and all of them.
func (c *Claims) InUse() map[string]int {
	counts := map[string]int{anyDriver: 0}
	for _, claim := range c.store.list(func(e *entry) bool { return e.ready }) {
		counts[anyDriver]++
		for driver := range claim.DriverState {
			counts[driver]++
		}
	}
	return counts
}
