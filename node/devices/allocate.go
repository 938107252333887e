package devices

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/node/devices/checkpoint"
	"github.com/lifepod/lifepod/roster/numa"
)

// returnsSoon says whether a container ends before others begin: a regular init container.
func returnsSoon(pod *v1.Pod, c *v1.Container) bool {
	sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	return !sidecar && slices.ContainsFunc(pod.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

// claim is what a container asks for of one resource.
type claim struct {
	pod             *v1.Pod
	container, name string
	count           int
	near            []int64 // the NUMA nodes that it is to be near to; nil: any
}

// allocate chooses devices and has their plugin prepare them. They are nobody else's from the
// moment they are chosen.
func (d *Devices) allocate(ctx context.Context, c claim, reusable numa.DeviceIDs) error {
	ctx, done := context.WithTimeout(ctx, d.Config.Timeouts.Allocate)
	defer done()
	plugin, ids, err := d.choose(ctx, c, reusable)
	if err != nil || len(ids) == 0 {
		return err
	}
	began := time.Now()
	response, err := plugin.client.Allocate(ctx, &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: ids}}})
	if d.Config.Counts != nil {
		d.Config.Counts.PluginAllocated(c.name, time.Since(began))
	}
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
func (d *Devices) choose(ctx context.Context, c claim, reusable numa.DeviceIDs) (*plugin, []string, error) {
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
func (d *Devices) attempt(c claim, reusable numa.DeviceIDs) (p *plugin, preferring bool, choice numa.DeviceChoice, err error) {
	need := numa.DeviceNeed{
		PodUID: string(c.pod.UID), Container: c.container, Name: c.name, Count: c.count, Reusable: reusable, InUse: d.inUse(c.name),
		Affinity: c.near,
	}
	if has := d.of(c.pod.UID, c.container, c.name); has != nil {
		need.Has = has.ids()
	}
	if r := d.resources[c.name]; r != nil {
		need.Registered, need.Resource, p = true, r.devices, r.plugin()
		preferring = r.options.GetGetPreferredAllocationAvailable()
	}
	choice, err = numa.ChooseDevices(need, preferring)
	if err == nil && p == nil && len(choice.IDs) > 0 { // those of its init containers
		err = fmt.Errorf("endpoint of %s has been stopped", c.name)
	}
	return p, preferring, choice, err
}

// prefer asks which devices are best used together.
func (p *plugin) prefer(ctx context.Context, ask *numa.DeviceQuestion) ([]string, error) {
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
	d.dirty.Send()
}

func (d *Devices) idsOf(pod *v1.Pod, c *v1.Container, name string) numa.DeviceIDs {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.of(pod.UID, c.Name, name); a != nil {
		return a.ids()
	}
	return nil
}
