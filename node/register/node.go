package register

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodeutil "k8s.io/component-helpers/node/util"
)

// attachDetach says that the cluster's controller attaches and detaches the
// volumes of this node. It holds: lifepod never does either itself, and refuses
// pods whose volumes would need it.
const attachDetach = "volumes.kubernetes.io/controller-managed-attach-detach"

// Node is this machine's Node object. Its methods may be called from anywhere.
type Node struct {
	config    Config
	facts     facts // that don't change
	enforced  v1.ResourceList
	addresses *finder
	found     atomic.Pointer[found]
	object    *object
	calls     *calls
}

// found is what Addresses has found last.
type found struct {
	addresses []v1.NodeAddress
	at        time.Time
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

// NewSimulated is New for a machine that there is not, with addresses that this one need not have.
func NewSimulated(config Config, machine Machine, addresses []v1.NodeAddress) (*Node, error) {
	n, err := newNode(config, machine)
	if err == nil {
		n.addresses.given = addresses
	}
	return n, err
}

func newNode(config Config, machine Machine) (*Node, error) {
	config.Timing = config.Timing.withDefaults()
	config.API = config.API.withDefaults()
	config.Senses = config.Senses.withDefaults()
	n := &Node{config: config, addresses: newFinder(config.Name, config.NodeIPs), calls: newCalls()}
	n.facts.machine, n.facts.capacity = machine, config.Resources.capacity(machine)
	var err error
	if n.facts.reserved, err = config.Resources.reserved(machine, n.facts.capacity); err != nil {
		return nil, err
	}
	if n.enforced, err = config.Resources.enforced(machine, n.facts.capacity); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLabels(config.Labels), checkTaints(config.Taints)); err != nil {
		return nil, err
	}
	initial := newNodeObject(&config, &n.facts)
	// Static pods are held against them before the Node is registered, or without a cluster.
	initial.Status.DeclaredFeatures, err = declaredFeatures(config.FeatureGates, nil)
	n.object = newObject(initial, config.Senses.Heard)
	return n, err
}

func annotationsOf(own map[string]string) map[string]string {
	all := map[string]string{attachDetach: "true"}
	maps.Copy(all, own)
	return all
}

// newNodeObject is the Node to register, with everything but its addresses and what the
// runtime says.
func newNodeObject(c *Config, f *facts) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        c.Name,
			Labels:      labelsOf(c.Name, c.Labels),
			Annotations: annotationsOf(f.machine.Annotations),
		},
		Spec: v1.NodeSpec{ProviderID: c.ProviderID, Taints: slices.Clone(c.Taints)},
	}
	f.setMachine(node)
	return node
}

// Node is the newest version of the Node that is known: the API's, and before
// it is known, or without a cluster, what is to be registered. It may be asked
// at any time, does not wait, and must not be changed.
func (n *Node) Node() *v1.Node { return cmp.Or(n.object.newest.Load(), n.object.initial) }

// Known is closed when the API's object is known: only then can pods be held
// against its labels and taints (B-RST-3).
func (n *Node) Known() <-chan struct{} { return n.object.known }

// Addresses finds the addresses that the machine has as a node, of which the
// InternalIPs are the host IPs of its pods (A-CST-17). A Run that begins soon takes them,
// since to find them may take seconds.
func (n *Node) Addresses(ctx context.Context) ([]v1.NodeAddress, error) {
	now := time.Now()
	addresses, err := n.addresses.addresses(ctx)
	if err == nil {
		n.found.Store(&found{addresses, now})
	}
	return addresses, err
}

// PodsLimit is what all pods together may use: the capacity without what is
// reserved, but with what is kept free by eviction. Process IDs are not in it.
func (n *Node) PodsLimit() v1.ResourceList { return maps.Clone(n.enforced) }

// Reserved is what of the machine pods may not have: kubeReserved, systemReserved and what is
// kept free by eviction.
func (n *Node) Reserved() v1.ResourceList { return maps.Clone(n.facts.reserved) }

// RuntimeChanged tells that the runtime may have been lost or be back. It is
// asked at once; what it answers counts, not the rumour.
func (n *Node) RuntimeChanged() { n.calls.note(func(a *asked) { a.runtime = true }) }

// ImagesChanged tells that an image was pulled or removed.
func (n *Node) ImagesChanged() { n.calls.note(func(a *asked) { a.images = true }) }

// Changed tells that one of Senses may have another answer.
func (n *Node) Changed() { n.calls.note(func(*asked) {}) }

// Run registers the node and keeps it until ctx ends; then the Node stays as it
// is, as pods do, and the cluster misses its Lease.
func (n *Node) Run(ctx context.Context) {
	if n.config.API.Client == nil {
		<-ctx.Done()
		return
	}
	var goroutines sync.WaitGroup
	defer goroutines.Wait()

	c, link := &n.config, newLink()
	reporter := n.newReporter()
	follower := follower{name: c.Name, client: c.API.Client, object: n.object, calls: n.calls, link: link, log: c.Log}
	lease := leaseRenewer{name: c.Name, api: c.API, seconds: c.Timing.LeaseSeconds, object: n.object, link: link, log: c.Log}
	if c.API.Shared != nil { // before the registration: what it makes is heard of
		c.API.Shared.add(&follower)
		defer c.API.Shared.remove(&follower)
	}
	c.Senses.tell(event{v1.EventTypeNormal, "Starting", "Starting kubelet."})
	// Not after the registration, which asks the runtime first: a Lease that an agent before
	// has left may be about to expire (B-LOST-1).
	goroutines.Go(func() { lease.run(ctx) })
	if !c.Unregistered && !reporter.register(ctx) {
		return
	}
	if c.API.Shared == nil {
		goroutines.Go(func() { follower.run(ctx) })
	}
	reporter.run(ctx)
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

// object is the Node as the API has it.
type object struct {
	// initial is what to register, without the runtime's part of its status.
	initial *v1.Node
	newest  atomic.Pointer[v1.Node] // nil until it is known
	heard   func(*v1.Node)          // hears each newer one, in their order
	mu      sync.Mutex              // held while one is published

	known     chan struct{} // closed when newest is set for the first time
	knownOnce sync.Once
}

func newObject(initial *v1.Node, heard func(*v1.Node)) *object {
	return &object{initial: initial, heard: heard, known: make(chan struct{})}
}

// publish makes a Node the newest unless its version is known already, or is an
// older one and evenOlder isn't set; it says whether it did. It becomes the object's own.
func (o *object) publish(node *v1.Node, evenOlder bool) bool {
	node.ManagedFields = nil
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.newest.Load()
	if known != nil && known.UID == node.UID {
		order, err := resourceversion.CompareResourceVersion(node.ResourceVersion, known.ResourceVersion)
		if err == nil && (order == 0 || order < 0 && !evenOlder) {
			return false
		}
	}
	o.newest.Store(node)
	o.heard(node)
	o.knownOnce.Do(func() { close(o.known) })
	return true
}

// patchStatus sends the difference of two versions of a Node to its status, as
// component-helpers makes it: it knows that addresses must not be merged.
func patchStatus(ctx context.Context, client kubernetes.Interface, before, after *v1.Node) (*v1.Node, error) {
	patcher := &patcher{CoreV1Interface: client.CoreV1(), ctx: ctx}
	node, _, err := nodeutil.PatchNodeStatus(patcher, types.NodeName(after.Name), before, after)
	if patcher.err != nil {
		return nil, fmt.Errorf("patch the status of node %q: %w", after.Name, patcher.err)
	}
	return node, err
}

// patcher carries what PatchNodeStatus doesn't: a context to the request, and
// the request's error, of which it returns only a text (with the whole patch).
type patcher struct {
	corev1client.CoreV1Interface
	ctx context.Context
	err error
}

func (p *patcher) Nodes() corev1client.NodeInterface { return nodes{p.CoreV1Interface.Nodes(), p} }

type nodes struct {
	corev1client.NodeInterface
	patcher *patcher
}

func (n nodes) Patch(_ context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*v1.Node, error) {
	node, err := n.NodeInterface.Patch(n.patcher.ctx, name, kind, data, options, subresources...)
	n.patcher.err = err
	return node, err
}
