package csi

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes"

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
	objects  *objects
	recount  mailbox.Signal // the drivers, or their CSIDrivers, are others
	patience time.Duration  // how long a registration waits for the API server

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
	beside.Go(func() { r.objects.run(ctx) })
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
