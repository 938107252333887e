package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/node/devices/checkpoint"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/devices"
	"github.com/lifepod/lifepod/worker/admission"
)

// Affinity says near to which NUMA nodes a container's devices are to be; nil: any.
type Affinity func(container string) []int64

// Allocate gives a pod all devices that it asks for, or none (A-DEV-5, A-DEV-8).
func (d *Devices) Allocate(ctx context.Context, pod *v1.Pod) roster.Allocated {
	return d.AllocateNear(ctx, pod, nil)
}

// AllocateNear is Allocate for a pod whose containers are to be near to NUMA nodes (A-DEV-7).
func (d *Devices) AllocateNear(ctx context.Context, pod *v1.Pod, near Affinity) roster.Allocated {
	answer, before, all := roster.Allocated{UID: pod.UID}, d.has(pod), request{pod: pod, near: near, reusable: map[string]devices.IDs{}}
	for _, c := range ofPod(pod) {
		given, err := d.allocateContainer(ctx, all, c)
		if err != nil {
			d.takeBack(pod, before)
			return refused(pod, err)
		}
		for _, name := range given {
			if resource := v1.ResourceName(name); !slices.Contains(answer.Given, resource) {
				answer.Given = append(answer.Given, resource)
			}
		}
	}
	if len(answer.Given) == 0 {
		return answer
	}
	if err := d.save(); err != nil {
		d.takeBack(pod, before)
		return refused(pod, err)
	}
	return answer
}

// refused is the answer for a pod that gets nothing (A-DEV-8).
func refused(pod *v1.Pod, err error) roster.Allocated {
	answer := roster.Allocated{UID: pod.UID, Refusal: &admission.Refusal{
		Reason: "UnexpectedAdmissionError", Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", err),
	}}
	if short, is := errors.AsType[*devices.ErrShort](err); is {
		answer.Lacks = v1.ResourceName(short.Name)
	}
	return answer
}

// allocateContainer gives a container its devices. Those of a regular init container are the
// first that later containers of the pod get (A-DEV-6). It returns what of it are devices.
func (d *Devices) allocateContainer(ctx context.Context, all request, c *v1.Container) (given []string, err error) {
	for _, name := range asked(all.pod, c) {
		d.mu.Lock()
		is := d.isDevice(name)
		d.mu.Unlock()
		if !is {
			continue
		}
		count := c.Resources.Limits[v1.ResourceName(name)]
		if err := d.allocate(ctx, claim{pod: all.pod, container: c.Name, name: name, count: int(count.Value()), near: all.near}, all.reusable[name]); err != nil {
			return nil, err
		}
		given = append(given, name)
		has := d.idsOf(all.pod, c, name)
		if returnsSoon(all.pod, c) {
			all.reusable[name] = all.reusable[name].Union(has)
		} else {
			all.reusable[name] = all.reusable[name].Difference(has)
		}
	}
	return given, nil
}

// returnsSoon says whether a container ends before others begin: a regular init container.
func returnsSoon(pod *v1.Pod, c *v1.Container) bool {
	sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	return !sidecar && slices.ContainsFunc(pod.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

// request is what a pod asks for.
type request struct {
	pod  *v1.Pod
	near Affinity
	// reusable are the devices of containers that ended before others begin, by resource.
	reusable map[string]devices.IDs
}

// claim is what a container asks for of one resource.
type claim struct {
	pod             *v1.Pod
	container, name string
	count           int
	near            Affinity
}

// allocate chooses devices and has their plugin prepare them. They are nobody else's from the
// moment they are chosen.
func (d *Devices) allocate(ctx context.Context, c claim, reusable devices.IDs) error {
	ctx, done := context.WithTimeout(ctx, d.Config.Timeouts.Allocate)
	defer done()
	plugin, ids, err := d.choose(ctx, c, reusable)
	if err != nil || len(ids) == 0 {
		return err
	}
	response, err := plugin.client.Allocate(ctx, &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: ids}}})
	if err == nil && len(response.GetContainerResponses()) == 0 {
		err = fmt.Errorf("no containers return in allocation response %v", response)
	}
	if err != nil {
		return err // what was chosen is taken back with all of the pod's
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.of(c.pod.UID, c.container, c.name); a != nil {
		a.given = response.ContainerResponses[0]
	}
	return nil
}

// choose chooses devices, after their plugin was asked for its preference, if it has one. The
// lock is not held meanwhile: what others have taken then is not chosen.
func (d *Devices) choose(ctx context.Context, c claim, reusable devices.IDs) (*plugin, []string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, preferring, choice, err := d.attempt(c, reusable)
	if err != nil {
		return nil, nil, err
	}
	if choice.Ask != nil && preferring {
		d.mu.Unlock()
		preferred, failed := p.prefer(ctx, choice.Ask)
		d.mu.Lock()
		if failed != nil {
			return nil, nil, failed
		}
		if p, _, choice, err = d.attempt(c, reusable); err != nil {
			return nil, nil, err
		}
		if choice.Ask != nil {
			choice = choice.Preferred(preferred)
		}
	}
	if len(choice.IDs) == 0 {
		return p, nil, nil
	}
	near := checkpoint.DevicesPerNUMA{}
	for _, id := range choice.IDs {
		nodes := d.resources[c.name].devices[id].Nodes
		if len(nodes) == 0 {
			nodes = []int64{-1}
		}
		for _, node := range nodes {
			near[node] = append(near[node], id)
		}
	}
	d.assign(c.pod.UID, c.container, c.name, &assignment{near: near})
	return p, choice.IDs, nil
}

// attempt is the choice as things are.
func (d *Devices) attempt(c claim, reusable devices.IDs) (p *plugin, preferring bool, choice devices.Choice, err error) {
	need := devices.Need{
		PodUID: string(c.pod.UID), Container: c.container, Name: c.name, Count: c.count, Reusable: reusable, InUse: d.inUse(c.name),
	}
	if c.near != nil {
		need.Affinity = c.near(c.container)
	}
	if has := d.of(c.pod.UID, c.container, c.name); has != nil {
		need.Has = has.ids()
	}
	if r := d.resources[c.name]; r != nil {
		need.Registered, need.Resource, p = true, r.devices, r.plugin
		preferring = r.options.GetGetPreferredAllocationAvailable()
	}
	choice, err = devices.Choose(need, preferring)
	if err == nil && p == nil && len(choice.IDs) > 0 { // those of its init containers
		err = fmt.Errorf("endpoint of %s has been stopped", c.name)
	}
	return p, preferring, choice, err
}

// prefer asks which devices are best used together.
func (p *plugin) prefer(ctx context.Context, ask *devices.Question) ([]string, error) {
	response, err := p.client.GetPreferredAllocation(ctx, &api.PreferredAllocationRequest{ContainerRequests: []*api.ContainerPreferredAllocationRequest{{
		AvailableDeviceIDs: ask.Available, MustIncludeDeviceIDs: ask.MustInclude, AllocationSize: int32(ask.Size),
	}}})
	if err != nil {
		return nil, fmt.Errorf("device plugin GetPreferredAllocation rpc failed with err: %w", err)
	}
	if answers := response.GetContainerResponses(); len(answers) > 0 {
		return answers[0].GetDeviceIDs(), nil
	}
	return nil, nil
}

// held are resources of containers, by container and resource.
type held = sets.Set[[2]string]

// has is what a pod has already.
func (d *Devices) has(pod *v1.Pod) held {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := held{}
	for container, has := range d.pods[pod.UID] {
		for name := range has {
			all.Insert([2]string{container, name})
		}
	}
	return all
}

// takeBack takes from a pod what it did not have before.
func (d *Devices) takeBack(pod *v1.Pod, before held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for container, has := range d.pods[pod.UID] {
		for name := range has {
			if !before.Has([2]string{container, name}) {
				delete(has, name)
			}
		}
		if len(has) == 0 {
			delete(d.pods[pod.UID], container)
		}
	}
	if len(d.pods[pod.UID]) == 0 {
		delete(d.pods, pod.UID)
	}
	d.changed()
}

func (d *Devices) idsOf(pod *v1.Pod, c *v1.Container, name string) devices.IDs {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.of(pod.UID, c.Name, name); a != nil {
		return a.ids()
	}
	return nil
}
