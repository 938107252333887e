package cluster

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"

	"github.com/lifepod/lifepod/cluster/controllers"
)

// informers are new ones, for parts that share them.
func (r *run) informers() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTransform(controllers.Trim))
}

// gatedInformers start only after the last of the parts that are made first has been
// made. Constructors of Kubernetes' packages add handlers to informers before they set
// what the handlers use: an informer that runs already calls such a handler too early,
// and the event is lost in a panic.
type gatedInformers struct {
	informers.SharedInformerFactory
	ctx    context.Context // the informers run until it ends, whichever part starts them
	making atomic.Int32    // parts that are not made yet
	made   chan struct{}   // closed when all are
}

func newGatedInformers(ctx context.Context, of informers.SharedInformerFactory, first int) *gatedInformers {
	g := &gatedInformers{SharedInformerFactory: of, ctx: ctx, made: make(chan struct{})}
	g.making.Store(int32(first))
	if first == 0 {
		close(g.made)
	}
	return g
}

// Start starts the informers once they may be started, and returns then.
func (g *gatedInformers) Start(stop <-chan struct{}) {
	g.StartWithContext(wait.ContextForChannel(stop))
}

// StartWithContext is Start; ctx ends the waiting only.
func (g *gatedInformers) StartWithContext(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-g.made:
		g.SharedInformerFactory.StartWithContext(g.ctx)
	}
}

// makingInformers are gated informers for a part that is made first. Its first Start
// says that it is made.
type makingInformers struct {
	*gatedInformers
	once sync.Once
}

// isMade lets the others start. A part that has failed holds nobody up either.
func (m *makingInformers) isMade() {
	m.once.Do(func() {
		if m.making.Add(-1) == 0 {
			close(m.made)
		}
	})
}

func (m *makingInformers) Start(stop <-chan struct{}) {
	m.isMade()
	m.gatedInformers.Start(stop)
}

func (m *makingInformers) StartWithContext(ctx context.Context) {
	m.isMade()
	m.gatedInformers.StartWithContext(ctx)
}

func (r *run) runOn(g *group, shared informers.SharedInformerFactory, wanted []part) {
	first := 0
	for _, p := range wanted {
		if p.madeFirst {
			first++
		}
	}
	gated := newGatedInformers(g.ctx, shared, first)
	for _, p := range wanted {
		if !p.madeFirst {
			g.restarted(p.name, func(ctx context.Context) error { return p.run(r, ctx, gated) })
			continue
		}
		making := &makingInformers{gatedInformers: gated}
		again := false
		g.restarted(p.name, func(ctx context.Context) error {
			if again {
				return r.runAlone(ctx, p)
			}
			again = true
			defer making.isMade()
			return p.run(r, ctx, making)
		})
	}
}

// runAlone runs a part on informers of its own: one that has failed is made again when
// the others' informers run already.
func (r *run) runAlone(ctx context.Context, p part) error {
	own := r.informers()
	defer own.Shutdown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return p.run(r, ctx, own)
}
