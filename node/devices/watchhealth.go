package devices

import (
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

// askHealthAgain is how long after its end a driver is asked again for how its devices are.
const askHealthAgain = 5 * time.Second

// healthClient is for the newest service of health among those that a driver has registered
// with (A-DRA-12); nil: it has none.
func healthClient(connection *grpc.ClientConn, versions []string) healthapi.DRAResourceHealthClient {
	switch {
	case slices.Contains(versions, healthapi.DRAResourceHealthService):
		return healthapi.NewDRAResourceHealthClient(connection)
	case slices.Contains(versions, healthv1alpha1.DRAResourceHealthService):
		return healthapi.V1Alpha1ClientWrapper{Client: healthv1alpha1.NewDRAResourceHealthClient(connection)}
	}
	return nil
}

// watchHealth hears how a driver's devices are until close. One that does not serve this after
// all is not asked again (A-DRA-12).
func (d *Drivers) watchHealth(one *driver) {
	for {
		if err := d.hearHealth(one); status.Code(err) == codes.Unimplemented {
			return
		}
		select {
		case <-one.ctx.Done():
			return
		case <-time.After(askHealthAgain):
		}
	}
}

// hearHealth returns why there is no more to hear.
func (d *Drivers) hearHealth(one *driver) error {
	stream, err := one.health.NodeWatchResources(one.ctx, &healthapi.NodeWatchResourcesRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		said, err := stream.Recv()
		if err != nil {
			if !d.isClosed() { // what is known at the agent's end is for the next one
				d.health.forget(one)
			}
			return err
		}
		d.health.update(one, said.GetDevices())
	}
}

func (d *Drivers) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// tellChange tells of the pods that use devices.
func (c *Claims) tellChange(driver string, devices []DeviceHealth) {
	for _, pod := range c.store.usersOf(driver, devices) {
		c.changed(pod)
	}
}

// Health says how the devices are of the claims that a pod's containers name, by the
// containers' names, in the API's form (A-DRA-12).
func (c *Claims) Health(pod *v1.Pod) map[string][]v1.ResourceStatus {
	all := map[string][]v1.ResourceStatus{}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		for _, use := range usesOf(pod, container) {
			if list := c.healthOf(use); len(list) > 0 {
				all[container.Name] = append(all[container.Name], v1.ResourceStatus{Name: use.name, Resources: list})
			}
		}
	}
	return all
}

// healthOf is that of the devices of a use. Of several that have one name, as one whose
// common part comes first, the worst counts.
func (c *Claims) healthOf(use use) (list []v1.ResourceHealth) {
	claim, found := c.store.get(use.claim)
	if !found || use.name == "" {
		return nil
	}
	for _, name := range driversOf([]Claim{claim}) {
		for _, device := range claim.DriverState[name].Devices {
			if !isFor(device, use.request) {
				continue
			}
			one := c.resourceHealth(name, device)
			switch i := slices.IndexFunc(list, func(r v1.ResourceHealth) bool { return r.ResourceID == one.ResourceID }); {
			case i < 0:
				list = append(list, one)
			case slices.Index(fromWorst, one.Health) < slices.Index(fromWorst, list[i].Health):
				list[i] = one
			}
		}
	}
	return list
}

var fromWorst = []v1.ResourceHealthStatus{v1.ResourceHealthStatusUnhealthy, v1.ResourceHealthStatusUnknown, v1.ResourceHealthStatusHealthy}

func (c *Claims) resourceHealth(driver string, device ClaimedDevice) v1.ResourceHealth {
	is := c.drivers.health.of(driver, device)
	shown := v1.ResourceHealth{ResourceID: v1.ResourceID(strings.Join([]string{driver, device.PoolName, device.DeviceName}, "/")), Health: is.Health}
	if len(device.CDIDeviceIDs) > 0 {
		shown.ResourceID = v1.ResourceID(device.CDIDeviceIDs[0])
	}
	if is.Message != "" {
		shown.Message = &is.Message
	}
	return shown
}

// Health is how the devices are that the containers of a pod have: as their plugins have reported
// last, and healthy if they have reported nothing (A-DEV-12).
func (d *Devices) Health(pod *v1.Pod) map[string][]v1.ResourceStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string][]v1.ResourceStatus{}
	for container, has := range d.pods[pod.UID] {
		for _, name := range slices.Sorted(maps.Keys(has)) {
			status := v1.ResourceStatus{Name: v1.ResourceName(name), Resources: []v1.ResourceHealth{}}
			for _, id := range sets.List(has[name].ids()) {
				status.Resources = append(status.Resources, v1.ResourceHealth{ResourceID: v1.ResourceID(id), Health: d.healthOf(name, id)})
			}
			all[container] = append(all[container], status)
		}
	}
	return all
}

func (d *Devices) healthOf(name, id string) v1.ResourceHealthStatus {
	if healthy(d.last[name], id) {
		return v1.ResourceHealthStatusHealthy
	}
	return v1.ResourceHealthStatusUnhealthy
}
