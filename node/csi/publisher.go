package csi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
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

	told bool // guarded by Publisher.mu
}

// Refused gets why the API can't say it: what has to be changed is elsewhere.
func (w *Wish) Refused() <-chan error { return w.refused }

// Done is closed when the API says it, or when there is a newer wish for the driver.
func (w *Wish) Done() <-chan struct{} { return w.done }

func (w *Wish) over() { w.once.Do(func() { close(w.done) }) }

// Publisher has the API say what the drivers do. Use New.
type Publisher struct {
	// Initialized is called when NotReady has another answer; may be nil. Set it before Run.
	Initialized func()

	api  nodeAPI
	log  *slog.Logger
	wake chan struct{} // of size 1

	mu          sync.Mutex
	node        types.UID // empty: the Node is not known yet
	unlessReady error     // why the node can't be Ready
	hasCSINode  bool
	wishes      map[string]*Wish // by driver
}

// NewPublisher makes a Publisher for the node of that name.
func NewPublisher(client kubernetes.Interface, name string, log *slog.Logger) *Publisher {
	return &Publisher{
		api: nodeAPI{client: client, name: name}, log: log, wake: make(chan struct{}, 1), wishes: map[string]*Wish{},
		unlessReady: errors.New("CSINode is not yet initialized"),
	}
}

// Heard takes a version of the Node; it does not block. Of a Node that comes anew, all is told
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
	for _, w := range p.wishes {
		w.told = false
	}
	p.poke()
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

// Want has the API say something of a driver from now on; nil: nothing.
func (p *Publisher) Want(driver string, about *DriverOnNode) *Wish {
	w := &Wish{about: about, refused: make(chan error, 1), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.wishes[driver]; before != nil {
		before.over()
	}
	p.wishes[driver] = w
	p.poke()
	return w
}

func (p *Publisher) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Waits between tries of what has failed.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 3 * time.Second
)

// Run tells the API server until ctx ends; call it once. What it has told stays.
func (p *Publisher) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	again, told := firstWait, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		timer.Stop()
		err := p.tell(ctx)
		if err == nil || ctx.Err() != nil {
			again, told = firstWait, ""
			continue
		}
		if text := err.Error(); text != told {
			told = text
			p.log.WarnContext(ctx, "tell the API server of CSI drivers; tried until it works", "err", err)
		}
		timer.Reset(again)
		again = min(2*again, longestWait)
	}
}

// tell tells everything that was not told yet.
func (p *Publisher) tell(ctx context.Context) (err error) {
	p.mu.Lock()
	node, hasCSINode, wishes := p.node, p.hasCSINode, maps.Clone(p.wishes)
	maps.DeleteFunc(wishes, func(_ string, w *Wish) bool { return w.told })
	p.mu.Unlock()
	if node == "" {
		return nil
	}
	if !hasCSINode {
		if err := p.initialize(ctx, node); err != nil {
			return err
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(wishes)) {
		err = errors.Join(err, p.fulfil(ctx, node, driver, wishes[driver]))
	}
	return err
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
	if p.wishes[driver] != w || p.node != node {
		return nil
	}
	w.told = true
	if w.about == nil {
		delete(p.wishes, driver)
	}
	return nil
}
