package register

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// attachDetach says that the cluster's controller attaches and detaches the
// volumes of this node. It holds: lifepod never does either itself, and refuses
// pods whose volumes would need it.
const attachDetach = "volumes.kubernetes.io/controller-managed-attach-detach"

// Node is this machine's Node object. Its methods may be called from anywhere.
type Node struct {
	config    Config
	machine   Machine
	capacity  v1.ResourceList
	reserved  v1.ResourceList
	enforced  v1.ResourceList
	addresses *finder

	// initial is the object to register, without the runtime's part of its status.
	initial *v1.Node
	// newest is the API's object; nil until it is known.
	newest atomic.Pointer[v1.Node]

	// wake calls the reporter. relist calls the follower, which answers the lease
	// by back, and tells it by over when an outage has ended. Each has room for one.
	wake, relist, back, over chan struct{}

	known     chan struct{} // closed when newest is set for the first time
	knownOnce sync.Once

	mu    sync.Mutex
	asked calls // what wake is about
}

// calls is what the reporter was called for since it looked the last time.
type calls struct {
	runtime, images bool
	// back says that the API server was away and is there again.
	back bool
	// absent says that the API has no such Node; it stays until there is one.
	absent bool
}

// New reads the machine and checks the configuration against it. Nothing is
// sent before Run.
func New(config Config) (*Node, error) {
	machine, err := ReadMachine(config.Resources.RootDir)
	if err != nil {
		return nil, fmt.Errorf("register node %q: %w", config.Name, err)
	}
	return newNode(config, machine)
}

func newNode(config Config, machine Machine) (*Node, error) {
	config.Timing = config.Timing.withDefaults()
	config.API = config.API.withDefaults()
	config.Senses = config.Senses.withDefaults()
	n := &Node{
		config:    config,
		machine:   machine,
		capacity:  config.Resources.capacity(machine),
		addresses: newFinder(config.Name, config.NodeIPs),
		wake:      make(chan struct{}, 1),
		back:      make(chan struct{}, 1),
		relist:    make(chan struct{}, 1),
		known:     make(chan struct{}),
		over:      make(chan struct{}, 1),
	}
	reserved, err := config.Resources.reserved(machine, n.capacity)
	if err != nil {
		return nil, err
	}
	n.reserved = reserved
	if n.enforced, err = config.Resources.enforced(machine, n.capacity); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLabels(config.Labels), checkTaints(config.Taints)); err != nil {
		return nil, err
	}
	n.initial = n.newObject()
	// Static pods are held against them before the Node is registered, or without a cluster.
	n.initial.Status.DeclaredFeatures, err = declaredFeatures(config.FeatureGates, nil)
	return n, err
}

// newObject is the Node to register, with everything but its addresses and
// what the runtime says.
func (n *Node) newObject() *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.config.Name,
			Labels:      labelsOf(n.config.Name, n.config.Labels),
			Annotations: map[string]string{attachDetach: "true"},
		},
		Spec: v1.NodeSpec{ProviderID: n.config.ProviderID, Taints: slices.Clone(n.config.Taints)},
	}
	(&facts{machine: n.machine, capacity: n.capacity, reserved: n.reserved}).setMachine(node)
	return node
}

// Node is the newest version of the Node that is known: the API's, and before
// it is known, or without a cluster, what is to be registered. It may be asked
// at any time, does not wait, and must not be changed.
func (n *Node) Node() *v1.Node {
	if node := n.newest.Load(); node != nil {
		return node
	}
	return n.initial
}

// Known is closed when the API's object is known: only then can pods be held
// against its labels and taints (B-RST-3).
func (n *Node) Known() <-chan struct{} { return n.known }

// Addresses finds the addresses that the machine has as a node, of which the
// InternalIPs are the host IPs of its pods (A-CST-17).
func (n *Node) Addresses(ctx context.Context) ([]v1.NodeAddress, error) {
	return n.addresses.addresses(ctx)
}

// PodsLimit is what all pods together may use: the capacity without what is
// reserved, but with what is kept free by eviction. Process IDs are not in it.
func (n *Node) PodsLimit() v1.ResourceList { return maps.Clone(n.enforced) }

// RuntimeChanged tells that the runtime may have been lost or be back. It is
// asked at once; what it answers counts, not the rumour.
func (n *Node) RuntimeChanged() { n.call(func(c *calls) { c.runtime = true }) }

// ImagesChanged tells that an image was pulled or removed.
func (n *Node) ImagesChanged() { n.call(func(c *calls) { c.images = true }) }

// Changed tells that one of Senses may have another answer.
func (n *Node) Changed() { n.call(func(*calls) {}) }

func (n *Node) call(note func(*calls)) {
	n.mu.Lock()
	note(&n.asked)
	n.mu.Unlock()
	poke(n.wake)
}

// takeCalls are those since the last time.
func (n *Node) takeCalls() calls {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.asked
	n.asked = calls{absent: out.absent}
	return out
}

// publish makes a Node the newest unless its version is known already, or is an
// older one and evenOlder isn't set; it says whether it did. It becomes the Node's own.
func (n *Node) publish(node *v1.Node, evenOlder bool) bool {
	node.ManagedFields = nil
	for {
		known := n.newest.Load()
		if known != nil && known.UID == node.UID {
			order, err := resourceversion.CompareResourceVersion(node.ResourceVersion, known.ResourceVersion)
			if err == nil && (order == 0 || order < 0 && !evenOlder) {
				return false
			}
		}
		if n.newest.CompareAndSwap(known, node) {
			n.config.Senses.Heard(node)
			n.knownOnce.Do(func() { close(n.known) })
			return true
		}
	}
}

func (n *Node) event(e event) { n.config.Senses.Event(e.kind, e.reason, e.message) }

// Run registers the node and keeps it until ctx ends; then the Node stays as it
// is, as pods do, and the cluster misses its Lease.
func (n *Node) Run(ctx context.Context) {
	if n.config.API.Client == nil {
		<-ctx.Done()
		return
	}
	var goroutines sync.WaitGroup
	defer goroutines.Wait()

	r := newReporter(n)
	n.event(event{v1.EventTypeNormal, "Starting", "Starting kubelet."})
	if !n.config.Unregistered && !r.register(ctx) {
		return
	}
	goroutines.Go(func() { n.follow(ctx) })
	goroutines.Go(func() { n.keepLease(ctx) })
	r.run(ctx)
}

// poke fills a channel of size 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits, unless ctx ends before: then it is false.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
