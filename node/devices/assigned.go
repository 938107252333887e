package devices

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// Assigned is what a container is created with. Its devices are those that it got when its pod
// was admitted, however often it restarts; their plugin is told before each start, if it wants
// that (A-DEV-11).
func (d *Devices) Assigned(ctx context.Context, pod *v1.Pod, c *v1.Container) (all criconfig.Assigned, err error) {
	for _, name := range asked(pod, c) {
		quantity := c.Resources.Limits[v1.ResourceName(name)]
		d.mu.Lock()
		is, has := d.isDevice(name), d.of(pod.UID, c.Name, name) != nil
		d.mu.Unlock()
		if !is || quantity.IsZero() {
			continue
		}
		if !has { // its checkpoint was lost
			if err := d.allocate(ctx, claim{pod: pod, container: c.Name, name: name, count: int(quantity.Value())}, nil); err != nil {
				d.drop(pod, c.Name, name)
				return all, err
			}
			if err := d.save(); err != nil {
				return all, err
			}
		}
		given, err := d.preStart(ctx, pod, c.Name, name)
		if err != nil {
			return all, err
		}
		all.Add(assignedBy(given))
	}
	return all, nil
}

// drop forgets devices that a container was about to get.
func (d *Devices) drop(pod *v1.Pod, container, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pods[pod.UID][container], name)
}

// preStart tells the plugin that a container is about to be created with devices of it, if it
// wants that, and returns what it has given.
func (d *Devices) preStart(ctx context.Context, pod *v1.Pod, container, name string) (*api.ContainerAllocateResponse, error) {
	d.mu.Lock()
	a, r := d.of(pod.UID, container, name), d.resources[name]
	var p *plugin
	var required bool
	if r != nil {
		p, required = r.plugin(), r.options.GetPreStartRequired()
	}
	d.mu.Unlock()
	switch {
	case a == nil || a.given == nil:
		return nil, fmt.Errorf("no devices found allocated in local cache for pod %s, container %s, resource %s", pod.UID, container, name)
	case !required:
		return a.given, nil
	case p == nil:
		return nil, fmt.Errorf("device plugin PreStartContainer rpc failed with err: endpoint of %s has been stopped", name)
	}
	ctx, done := context.WithTimeout(ctx, d.Config.Timeouts.PreStart)
	defer done()
	if _, err := p.client.PreStartContainer(ctx, &api.PreStartContainerRequest{DevicesIds: sets.List(a.ids())}); err != nil {
		return nil, fmt.Errorf("device plugin PreStartContainer rpc failed with err: %w", err)
	}
	return a.given, nil
}

// assignedBy is what a plugin has answered, as containers are created with it. Of several for
// the same path in a container the first counts.
func assignedBy(given *api.ContainerAllocateResponse) criconfig.Assigned {
	a := criconfig.Assigned{Annotations: maps.Clone(given.GetAnnotations())}
	for _, key := range slices.Sorted(maps.Keys(given.GetEnvs())) {
		a.Env = append(a.Env, criconfig.KeyValue{Name: key, Value: given.Envs[key]})
	}
	for _, mount := range given.GetMounts() {
		a.Mounts = append(a.Mounts, &runtimeapi.Mount{ContainerPath: mount.GetContainerPath(), HostPath: mount.GetHostPath(), Readonly: mount.GetReadOnly()})
	}
	for _, device := range given.GetDevices() {
		a.Devices = append(a.Devices, &runtimeapi.Device{
			ContainerPath: device.GetContainerPath(), HostPath: device.GetHostPath(), Permissions: device.GetPermissions(),
		})
	}
	for _, device := range given.GetCdiDevices() {
		a.CDIDevices = append(a.CDIDevices, device.GetName())
	}
	return a
}

// Given are the devices of a container's claims as the pod resources API tells of them: those of the
// whole claim, by driver (A-DEV-13). If one is not prepared, there are none.
func (c *Claims) Given(pod *v1.Pod, container *v1.Container) (list []*podresources.DynamicResource) {
	var seen []types.NamespacedName
	for _, use := range usesOf(pod, container) {
		if slices.Contains(seen, use.claim) {
			continue
		}
		seen = append(seen, use.claim)
		claim, found := c.store.get(use.claim)
		if !found {
			return nil
		}
		list = append(list, given(claim))
	}
	return list
}

func given(claim Claim) *podresources.DynamicResource {
	resource := &podresources.DynamicResource{ClaimName: claim.ClaimName, ClaimNamespace: claim.Namespace}
	for _, driver := range slices.Sorted(maps.Keys(claim.DriverState)) {
		for _, device := range claim.DriverState[driver].Devices {
			one := &podresources.ClaimResource{DriverName: driver, PoolName: device.PoolName, DeviceName: device.DeviceName, ShareId: (*string)(device.ShareID)}
			for _, id := range device.CDIDeviceIDs {
				one.CdiDevices = append(one.CdiDevices, &podresources.CDIDevice{Name: id})
			}
			resource.ClaimResources = append(resource.ClaimResources, one)
		}
	}
	return resource
}

// Capacity is what the Node has of devices, and how many of them may be used. Of a resource
// whose plugin has stopped none may; one whose plugin is away for long has none (A-DEV-4).
func (d *Devices) Capacity() (capacity, allocatable v1.ResourceList) {
	d.mu.Lock()
	defer d.mu.Unlock()
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	for name, r := range d.resources {
		capacity[v1.ResourceName(name)] = *resource.NewQuantity(int64(len(r.devices)), resource.DecimalSI)
		allocatable[v1.ResourceName(name)] = *resource.NewQuantity(int64(r.devices.Healthy().Len()), resource.DecimalSI)
	}
	for name := range d.removed {
		capacity[v1.ResourceName(name)] = *resource.NewQuantity(0, resource.DecimalSI)
		allocatable[v1.ResourceName(name)] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	return capacity, allocatable
}

// KnewNode says whether an agent has had this machine as a node before: extended resources that
// somebody has put into the Node stay then (A-DEV-4).
func (d *Devices) KnewNode() bool {
	_, err := os.Stat(d.path())
	return err == nil
}
