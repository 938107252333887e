package csi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/internal/mailbox"
)

// RegistryConfig is what a Registry needs. It is not changed after New.
type RegistryConfig struct {
	Client kubernetes.Interface
	Node   string // its name
	Log    *slog.Logger
	// Changed is called after each registration and deregistration: who waits for a driver can
	// ask again. It must not block; may be nil.
	Changed func()
	// Counted is an option of connections to a driver, whose calls are counted; nil: nobody
	// counts.
	Counted func(driver string) grpc.DialOption
}

// Registry has the drivers of a node. Its methods may be called from anywhere.
type Registry struct {
	// Node has what the drivers say of the node. Tell it of the Node.
	Node *Publisher

	config   RegistryConfig
	objects  *apiwatch.Lazy[*storagev1.CSIDriver] // watched from when a driver registers, or one is asked for
	recount  mailbox.Signal                       // the drivers, or their CSIDrivers, are others
	patience time.Duration                        // how long a registration waits for the API server

	mu      sync.Mutex
	drivers map[string][]*Driver // by name; the newest is the last, and is used
}

// NewRegistry makes a Registry without drivers.
func NewRegistry(c RegistryConfig) *Registry {
	if c.Changed == nil {
		c.Changed = func() {}
	}
	r := &Registry{config: c, recount: mailbox.NewSignal(), patience: publishingWait, Node: NewPublisher(c.Client, c.Node, c.Log), drivers: map[string][]*Driver{}}
	r.objects = newObjects(c.Client, c.Log, r.recount.Send)
	return r
}

// Run tells the API server what the drivers say until ctx ends; call it once. What it has reported
// stays: the drivers are there, and the next agent finds them again.
func (r *Registry) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { r.objects.Run(ctx) })
	beside.Go(func() { r.keepCounts(ctx) })
	r.Node.Run(ctx)
}

// Driver is the driver of that name that has registered last and is still there.
func (r *Registry) Driver(name string) (*Driver, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.newest(name); d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("driver name %s not found in the list of registered CSI drivers", name)
}

// newest is nil when there is none; mu is held.
func (r *Registry) newest(name string) *Driver {
	list := r.drivers[name]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// add takes a driver into use, in the place of the former one of its socket. It returns what
// becomes of what it says of the node.
func (r *Registry) add(d *Driver) *Wish {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.DeleteFunc(r.drivers[d.name], func(one *Driver) bool { return one.endpoint == d.endpoint })
	r.drivers[d.name] = append(list, d)
	return r.Node.Want(d.name, d.about())
}

// remove ends the use of drivers. If there is another one of that name, it is used from now on.
func (r *Registry) remove(name string, which func(*Driver) bool) (removed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.newest(name)
	left := slices.DeleteFunc(r.drivers[name], which)
	removed = len(left) < len(r.drivers[name])
	r.drivers[name] = left
	switch now := r.newest(name); now {
	case before:
	case nil:
		delete(r.drivers, name)
		r.Node.Want(name, nil)
	default:
		r.Node.Want(name, now.about())
	}
	return removed
}

// publishingWait is how long a registration waits for the API server; what a driver says is
// published afterwards then.
const publishingWait = 5 * time.Second

// Validate says whether a driver speaks a version that is known (A-CSI-1).
func (r *Registry) Validate(name, endpoint string, versions []string) error {
	if _, err := r.validate("ValidatePlugin", name, endpoint, versions); err != nil {
		return fmt.Errorf("validation failed for CSI Driver %s at endpoint %s: %w", name, endpoint, err)
	}
	return nil
}

// validate finds the highest version of a driver that is known.
func (r *Registry) validate(caller, name, endpoint string, versions []string) (*version.Version, error) {
	if len(versions) == 0 {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. Plugin returned an empty list for supported versions", caller, name)
	}
	highest, err := version.HighestSupportedVersion(versions)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. None of the versions specified %q are supported. err=%w", caller, name, versions, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.newest(name); now != nil && now.endpoint != endpoint && highest.LessThan(now.version) {
		return nil, fmt.Errorf("kubernetes.io/csi: %s for CSI driver %q failed. Another driver with the same name is already registered with a higher supported version: %q",
			caller, name, now.version)
	}
	return highest, nil
}

// Register takes a driver into use as soon as it has said what it knows of the node, and tells
// the cluster of it. A driver of the same name goes on being called by who has it already.
func (r *Registry) Register(ctx context.Context, name, endpoint string, versions []string) error {
	highest, err := r.validate("RegisterPlugin", name, endpoint, versions)
	if err != nil {
		return err
	}
	d := &Driver{name: name, endpoint: endpoint, version: highest}
	if r.config.Counted != nil {
		d.options = append(d.options, r.config.Counted(name))
	}
	if err := d.ask(ctx); err != nil {
		return err
	}
	if d.nodeID == "" {
		return errors.New("error adding CSI driver node info: driverNodeID must not be empty")
	}
	r.objects.Want()
	wish := r.add(d)
	r.changed()
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case err = <-wish.Refused():
	case <-wish.Done():
	case <-timer.C:
		r.config.Log.WarnContext(ctx, "a CSI driver is used before the API server knows of it", "driver", name, "endpoint", endpoint)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && r.remove(name, func(one *Driver) bool { return one == d }) {
		r.changed()
	}
	return err
}

// Deregister stops using a driver whose socket is gone.
func (r *Registry) Deregister(name, endpoint string) {
	if r.remove(name, func(one *Driver) bool { return one.endpoint == endpoint }) {
		r.changed()
	}
}

func (r *Registry) changed() {
	r.recount.Send()
	r.config.Changed()
}
