package csi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// DriverOnNode is what a driver says of the node.
type DriverOnNode struct {
	NodeID     string // what it calls the node
	Topology   map[string]string
	MaxVolumes int64 // 0: it doesn't say
}

// Wish is what the API is to say of a driver.
type Wish struct {
	about   *DriverOnNode // nil: nothing
	refused chan error    // of size 1
	done    chan struct{} // closed when it is so, or when there is a newer wish
	once    sync.Once
}

// Refused gets the reason why the API server refuses it, which must be mended elsewhere.
func (w *Wish) Refused() <-chan error { return w.refused }

// Done is closed when the API says it, or when there is a newer wish for the driver.
func (w *Wish) Done() <-chan struct{} { return w.done }

func (w *Wish) over() { w.once.Do(func() { close(w.done) }) }

// Publisher writes what the drivers report to the API. Use NewPublisher.
type Publisher struct {
	// Initialized is called when NotReady has another answer; may be nil. Set it before Run.
	Initialized func()

	api nodeAPI
	log *slog.Logger
	// queue has the drivers of which the API may have to be told; that of no name is the CSINode itself.
	queue workqueue.TypedRateLimitingInterface[string]

	mu          sync.Mutex
	node        types.UID // empty: the Node is not known yet
	unlessReady error     // why the node can't be Ready
	hasCSINode  bool
	wishes      map[string]*Wish // by driver
}

// NewPublisher makes a Publisher for the node of that name.
func NewPublisher(client kubernetes.Interface, name string, log *slog.Logger) *Publisher {
	return &Publisher{
		api: nodeAPI{client: client, name: name}, log: log, wishes: map[string]*Wish{},
		queue:       workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstWait, longestWait)),
		unlessReady: errors.New("CSINode is not yet initialized"),
	}
}

// Heard takes a version of the Node; it does not block. Of a Node that comes anew, all is reported
// again. One that is Ready at first stays so: its CSINode is there, of an agent before.
func (p *Publisher) Heard(node *v1.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.node == node.UID {
		return
	}
	if p.node == "" && isReady(node) {
		p.unlessReady = nil
	}
	p.node, p.hasCSINode = node.UID, false
	p.queue.Add("")
	for driver := range p.wishes {
		p.queue.Add(driver)
	}
}

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

// NotReady is why the node can't be Ready: until the CSINode is there, the scheduler does not
// know how many volumes it may have (A-CSI-2).
func (p *Publisher) NotReady() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unlessReady
}

// Want sets what the API is to say of a driver; nil: nothing.
func (p *Publisher) Want(driver string, about *DriverOnNode) *Wish {
	w := &Wish{about: about, refused: make(chan error, 1), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.wishes[driver]; before != nil {
		before.over()
	}
	p.wishes[driver] = w
	p.queue.Add(driver)
	return w
}

// Waits between tries of what has failed.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 3 * time.Second
)

// Run tells the API server until ctx ends; call it once. What it has reported stays.
func (p *Publisher) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.queue.ShutDown)
	defer stop()
	logged := map[string]string{} // by driver, until it has worked
	for {
		driver, ended := p.queue.Get()
		if ended {
			return
		}
		if err := p.tell(ctx, driver); err == nil {
			p.queue.Forget(driver)
			delete(logged, driver)
		} else {
			if logged[driver] != err.Error() && ctx.Err() == nil {
				logged[driver] = err.Error()
				p.log.WarnContext(ctx, "tell the API server of CSI drivers; tried until it works", "err", err)
			}
			p.queue.AddRateLimited(driver)
		}
		p.queue.Done(driver)
	}
}

// tell tells what is wished of a driver, if anything.
func (p *Publisher) tell(ctx context.Context, driver string) error {
	p.mu.Lock()
	node, hasCSINode, w := p.node, p.hasCSINode, p.wishes[driver]
	p.mu.Unlock()
	if node == "" {
		return nil
	}
	if !hasCSINode {
		if err := p.initialize(ctx, node); err != nil {
			return err
		}
	}
	if w == nil {
		return nil
	}
	return p.fulfil(ctx, node, driver, w)
}

// initialize makes the CSINode, without which the node is not Ready (A-CSI-2).
func (p *Publisher) initialize(ctx context.Context, node types.UID) error {
	err := p.api.editCSINode(ctx, node, func(now drivers) drivers { return now })
	p.mu.Lock()
	before := p.unlessReady
	switch {
	case node != p.node:
	case err == nil:
		p.hasCSINode, p.unlessReady = true, nil
	case before != nil:
		p.unlessReady = fmt.Errorf("failed to initialize CSINode: %w", err)
	}
	p.mu.Unlock()
	if before != nil && ctx.Err() == nil && p.Initialized != nil {
		p.Initialized()
	}
	return err
}

// fulfil tells of one driver. A refusal is for whoever has wished it, once: it is a failed
// registration then.
func (p *Publisher) fulfil(ctx context.Context, node types.UID, driver string, w *Wish) error {
	var err error
	if w.about == nil {
		err = p.api.uninstall(ctx, node, driver)
	} else {
		err = p.api.install(ctx, node, driver, w.about)
	}
	if err != nil {
		if isRefusal(err) {
			select {
			case w.refused <- err:
			default:
			}
		}
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.over()
	if w.about == nil && p.wishes[driver] == w && p.node == node {
		delete(p.wishes, driver)
	}
	return nil
}
