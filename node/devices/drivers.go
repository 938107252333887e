package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"
)

// services are those that a driver may serve, as it names them when it registers (A-DRA-10).
var services = []string{drav1.DRAPluginService, drav1beta1.DRAPluginService}

// Drivers are those that have registered, by their sockets (package node/devices). Of one
// driver there may be several at a time, while it is replaced.
type Drivers struct {
	slices *slicesOf
	health *healths

	mu      sync.Mutex
	drivers map[string][]*driver // by name, in the order of their registration
	closed  bool
	running sync.WaitGroup

	counted func(driver string) grpc.DialOption // immutable; may be nil
}

func newDrivers(c ClaimsConfig) *Drivers {
	return &Drivers{
		counted: c.Counted,
		drivers: map[string][]*driver{},
		health:  openHealth(c.HealthFile, c.Log),
		slices:  &slicesOf{client: c.Client, node: c.Node, log: c.Log, pending: map[string]context.CancelFunc{}},
	}
}

// run keeps the connections until ctx ends.
func (d *Drivers) run(ctx context.Context) {
	d.slices.run(ctx, func(name string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.judge(name)
	})
	d.closeAll()
}

// closeAll ends the use of all drivers; none registers from now on.
func (d *Drivers) closeAll() {
	d.mu.Lock()
	d.closed = true
	for _, list := range d.drivers {
		for _, one := range list {
			one.close()
		}
	}
	d.mu.Unlock()
	d.running.Wait()
	d.health.end()
}

// Validate says whether a driver serves what lifepod can call.
func (d *Drivers) Validate(name, endpoint string, versions []string) error {
	_, err := chosen(name, endpoint, versions)
	return err
}

// chosen is the first of the driver's services that can be called.
func chosen(name, endpoint string, versions []string) (string, error) {
	if len(versions) == 0 {
		return "", fmt.Errorf("invalid supported gRPC versions of DRA driver plugin %s at endpoint %s: %w", name, endpoint,
			errors.New("empty list of supported gRPC services (aka supported versions)"))
	}
	for _, version := range versions {
		if slices.Contains(services, version) {
			return version, nil
		}
	}
	return "", fmt.Errorf("invalid supported gRPC versions of DRA driver plugin %s at endpoint %s: none of services supported by the plugin (%q) are supported by the kubelet (%q)",
		name, endpoint, versions, services)
}

// Register begins to use a driver, or uses a restarted one in place of the previous.
func (d *Drivers) Register(_ context.Context, name, endpoint string, versions []string) error {
	service, err := chosen(name, endpoint, versions)
	if err != nil {
		return err
	}
	one, err := d.dial(name, endpoint, service)
	if err != nil {
		return err
	}
	one.health = healthClient(one.connection, versions)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		one.close()
		return errors.New("the agent ends")
	}
	d.remove(name, endpoint)
	d.drivers[name] = append(d.drivers[name], one)
	d.running.Go(func() { one.watch(func(connected bool) { d.connected(one, connected) }) })
	if one.health != nil {
		d.running.Go(func() { d.watchHealth(one) })
	}
	d.judge(name)
	return nil
}

// Deregister stops using a driver whose socket is gone.
func (d *Drivers) Deregister(name, endpoint string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.remove(name, endpoint)
		d.judge(name)
	}
}

// remove closes the connection to a driver; mu is held.
func (d *Drivers) remove(name, endpoint string) {
	d.drivers[name] = slices.DeleteFunc(d.drivers[name], func(one *driver) bool {
		if one.endpoint == endpoint {
			one.close()
		}
		return one.endpoint == endpoint
	})
	if len(d.drivers[name]) == 0 {
		delete(d.drivers, name)
	}
}

// connected files whether a driver answers.
func (d *Drivers) connected(one *driver, connected bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed && slices.Contains(d.drivers[one.name], one) {
		one.connected = connected
		d.judge(one.name)
	}
}

// judge has the ResourceSlices of a driver removed unless it can be called (A-DRA-11); mu
// is held.
func (d *Drivers) judge(name string) {
	d.slices.driver(name, slices.ContainsFunc(d.drivers[name], func(one *driver) bool { return one.connected }))
}

// named is the driver of that name: the newest one that answers, else the newest one.
func (d *Drivers) named(name string) (*driver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.drivers[name]
	for _, one := range slices.Backward(list) {
		if one.connected {
			return one, nil
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("DRA driver %s is not registered", name)
	}
	return list[len(list)-1], nil
}
